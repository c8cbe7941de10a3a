-- What kind of thing answers a question in German, French or Spanish: a date, a number, what
-- letters stand for, a default, or who made something. Kinds are named with their language, as
-- german_date, but for letters.

-- Returns a pattern of the verbs by which somebody is said to have made something.
create or replace function ragdb_internal.making_pattern(config text) returns text
language sql immutable parallel safe
return case config
  when 'german' then 'geschrieben|schrieb(?:en)?|entwickelte?n?|erfunden|erfand(?:en)?|gegründet'
    '|gründeten?|entworfen|entwarf(?:en)?|gebaut|bauten?|erschaffen|erschuf(?:en)?|programmierte?n?'
    '|verfasste?n?|erstellte?n?'
  when 'french' then 'écri(?:te?s?|vit|virent)|créée?s?|créa|créèrent|développée?s?|développa'
    '|inventée?s?|inventa|fondée?s?|fonda|conçue?s?|conçut|construite?s?|construisit|rédigée?s?'
  when 'spanish' then 'escri(?:bió|bieron|t[oa]s?)|cre(?:ó|aron|ad[oa]s?)'
    '|desarroll(?:ó|aron|ad[oa]s?)|invent(?:ó|aron|ad[oa]s?)'
    '|fund(?:ó|aron|ad[oa]s?)|diseñ(?:ó|aron|ad[oa]s?)'
    '|constru(?:yó|yeron|id[oa]s?)' end;

-- Returns the kind of what answers a question by its language; null for any. What is asked of what
-- is so each time, as "Wann öffnet es?", need have no date.
create or replace function ragdb_internal.kind_by_language(question text, config text) returns text
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_asked constant text := ragdb_internal.asked_for(question);
begin
  return case
    when config not in ('german', 'french', 'spanish') then null
    when v_asked ~* case config
      when 'german' then E'^\\W*(?:wann\\s+(?:wurden?|war(?:en)?|hat|haben)|in welchem jahr)\\s'
      when 'french' then
        E'^\\W*(?:quand|en quelle année)\\s(?:.*[\\s-])?(?:a|ont|fut|furent|été)(?:[\\s-]|$)'
      else E'^\\W*(?:cu[áa]ndo\\s+(?:se\\s+)?(?:fue|fueron|\\S+(?:ó|aron|ieron))|en qu[ée] año)'
        '(?![[:alpha:]])' end then config || '_date'
    when v_asked ~* case config when 'german' then E'^\\W*(?:\\S+\\s)?wie\\s+viele\\s'
      when 'french' then E'^\\W*(?:\\S+\\s)?combien\\s+d[e’'']'
      else E'^\\W*(?:\\S+\\s)?cu[áa]nt[oa]s\\s' end then config || '_number'
    when ragdb_internal.asked_letters(question) is not null then 'expansion'
    when v_asked ~* case config
      when 'german' then E'^\\W*(?:was|wie|welche[nmrs]?)\\s(?!version).*(?:vorein(?:ste|geste)'
        '|standard(?:mäßig|wert|port|einstellung)|vorgabewert)'
      when 'french' then E'^\\W*quel(?:le)?s?\\s(?!version).*par défaut'
      else E'^\\W*(?:cu[áa]l(?:es)?|qu[ée])\\s(?!versi).*(?:por defecto|predeterminad)' end
    then config || '_default'
    when v_asked ~* (case config when 'german' then E'^\\W*wer\\s' when 'french' then E'^\\W*qui\\s'
        else E'^\\W*qui[ée]n(?:es)?\\s' end || E'(?:.*\\s)?(?:'
        || ragdb_internal.making_pattern(config) || ')(?![[:alpha:]])')
    then config || '_maker' end;
end $$;

-- Returns the words one of which a sentence has that says such a kind of thing, in small letters.
create or replace function ragdb_internal.words_by_language(kind text) returns text[]
language sql immutable parallel safe
return case kind
  when 'german_date' then '{januar,februar,märz,april,mai,juni,juli,august,september,oktober,
    november,dezember,montag,dienstag,mittwoch,donnerstag,freitag,samstag,sonntag,jahrhundert,
    jahrhunderts,jahrzehnt,jahr,jahre,jahren,jahres,monat,monate,monaten,woche,wochen,tag,tage,
    tagen,heute,gestern,damals,später,früher,seit,seitdem,während,nachdem,bevor,nach,vor,bis,ende,
    anfang,beginn,mitte,zeit,krieg,tod,geburt,frühling,sommer,herbst,winter}'::text[]
  when 'french_date' then '{janvier,février,mars,avril,mai,juin,juillet,août,septembre,octobre,
    novembre,décembre,lundi,mardi,mercredi,jeudi,vendredi,samedi,dimanche,siècle,siècles,décennie,
    an,ans,année,années,mois,semaine,semaines,jour,jours,hier,depuis,pendant,avant,après,durant,
    fin,début,époque,guerre,mort,naissance,printemps,automne,hiver}'
  when 'spanish_date' then '{enero,febrero,marzo,abril,mayo,junio,julio,agosto,septiembre,octubre,
    noviembre,diciembre,lunes,martes,miércoles,jueves,viernes,sábado,domingo,siglo,siglos,década,
    año,años,mes,meses,semana,semanas,día,días,ayer,hoy,desde,durante,antes,después,hasta,fin,
    finales,principios,época,guerra,muerte,nacimiento,primavera,verano,otoño,invierno}'
  when 'german_number' then '{zwei,drei,vier,fünf,sechs,sieben,acht,neun,zehn,elf,zwölf,zwanzig,
    dreißig,vierzig,fünfzig,hundert,hunderte,tausend,tausende,million,millionen,milliarde,
    milliarden,dutzend,beide,beiden,halb,halbe,hälfte,drittel,viertel,kein,keine,keiner,keinen,
    mehrere,viele,einige,alle,paar,unbegrenzt,einzige,einzigen}'
  when 'french_number' then '{deux,trois,quatre,cinq,six,sept,huit,neuf,dix,onze,douze,quinze,vingt,
    trente,quarante,cinquante,soixante,cent,cents,mille,million,millions,milliard,milliards,dizaine,
    douzaine,centaine,moitié,tiers,quart,aucun,aucune,plusieurs,quelques,tous,toutes,seul,seule}'
  when 'spanish_number' then '{dos,tres,cuatro,cinco,seis,siete,ocho,nueve,diez,once,doce,quince,
    veinte,treinta,cuarenta,cincuenta,cien,ciento,cientos,mil,miles,millón,millones,docena,mitad,
    tercio,cuarto,ningún,ninguno,ninguna,varios,varias,algunos,algunas,todos,todas,ambos,solo,
    único}'
  when 'german_default' then '{standard,standardmäßig,standardwert,standardwerte,voreinstellung,
    voreingestellt,vorgabe,vorgabewert,default}'
  when 'french_default' then '{défaut,default}'
  when 'spanish_default' then '{defecto,predeterminado,predeterminada,predeterminados,
    predeterminadas,default}'
  else '{}' end;

-- Returns the lexemes of the words that say a default, by the language of a text configuration.
create or replace function ragdb_internal.default_lexemes(config text) returns text[]
language sql immutable parallel safe
return case config
  when 'german' then '{standard,standardmass,standardwert,voreinstell,voreingestellt,vorgab,
    default}'
  when 'french' then '{défaut,default}'
  when 'spanish' then '{defect,predetermin,default}'
  else '{default}' end::text[];

-- Tells whether a sentence names who may have made something: by a verb that is not passive, by
-- whom it was done, by a name of two words, or by what those are called who have.
create or replace function ragdb_internal.names_maker_in(sentence text, config text)
returns boolean
language sql immutable parallel safe
return sentence ~* (E'(?<![[:alpha:]]|\\s(?:été|est|sont|être|sido|ser|fue|fueron|es|son)\\s)(?:'
    || ragdb_internal.making_pattern(config)
    || '|autor(?:en|in|es|as?)?|auteure?s?|entwickler(?:n|in)?|erfinder(?:n|in)?|gründer(?:n|in)?'
    '|verfasser(?:n|in)?|créateurs?|inventeurs?|fondateurs?|développeurs?|creador(?:es|a)?'
    '|inventor(?:es|a)?|fundador(?:es|a)?|desarrollador(?:es|as?)?)(?![[:alpha:]])')
  or sentence ~ '(?<![[:alpha:]])[A-ZÀ-Þ][a-zß-ÿ]+ [A-ZÀ-Þ][a-zß-ÿ]+(?![[:alpha:]])'
  or sentence ~ ('(?:^|\s)(?:von|durch|par|por)\s+'
    '(?:(?:der|dem|den|le|la|les|el|los|las)\s+)?[A-ZÀ-Þ]');

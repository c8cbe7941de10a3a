-- What languages are told by: their commonest words and their letters.
--
-- A word of several languages speaks for each of them. Languages that have no text configuration
-- are here too: without them their texts would pass for those of a neighbour.

-- Lists languages, numbered, by their codes, null for letters that several write, with the letters
-- past ASCII of each, as the inside of a bracket expression, its common words as they are folded,
-- and the text configuration: english where a language has none.
create or replace function ragdb_internal.language_signs()
returns table (n bigint, language text, config text, letters text, words text)
language sql immutable parallel safe
begin atomic
  select s.n, s.language, coalesce(c.config, 'english'), s.letters, s.words
  from (select row_number() over () as n, v.* from (values
    ('eu', 'ñ',
      'baina bat bere beste da dela den dira ditu du duen dute edo egin egiten ere eta ez hau '
      'horrek izan zen zuen zuten'),
    ('ca', 'àçèéíïòóúü',
      'al als amb aquest aquesta com de del dels el els en es ha han la les més no on per però '
      'que ser seu seva són també un una va és'),
    ('da', 'æøåéó',
      'ad af alle alt anden at blev blive bliver da de dem den denne der deres det dette dig din '
      'disse dog du efter eller en end er et for fra før ham han hans har havde have hende '
      'hendes her hos hun hvad hvem hver hvis hvor hvordan hvorfor hvornår ikke ind ingen jeg '
      'jer jo kan kun kunne man mange med meget mellem men mig min mine mit mod ned noget nogle '
      'nu når og også om op os over på samme selv sig sin sine sit skal skulle som så sådan thi '
      'til ud under var ved vi vil ville vor være været'),
    ('nl', 'éëïöüè',
      'aan als bij dan dat de deze die dit door een en er haar hebben heeft het hij hoe hun in '
      'is kan maar met naar niet nog om onder ons ook op over te tot tussen uit van voor waar '
      'waarom wanneer was wat welke werd wie worden wordt ze zich zijn zo'),
    ('en', 'é',
      'about after all also an and any are as at be because been before between both but by can '
      'could did do does during each for from had has have he her his how if in into is it its '
      'just may more must my no not of on one only or other our out over own same should so some '
      'such than that the their them then there these they this those through to up use used '
      'using very was we were what when where which while who why will with would you your'),
    ('fi', 'äöåšž',
      'ei eivät emme en et ette että he heidän heidät heihin heille heillä heiltä heissä heistä '
      'heitä hän häneen hänelle hänellä häneltä hänen hänessä hänestä hänet häntä itse ja johon '
      'joiden joihin joiksi joilla joille joilta joina joissa joista joita joka joksi jolla '
      'jolle jolta jona jonka jos jossa josta jota jotka kanssa keiden keihin keiksi keille '
      'keillä keiltä keinä keissä keistä keitä keneen keneksi kenelle kenellä keneltä kenen '
      'kenenä kenessä kenestä kenet ketkä ketä koska kuin kuka kun kuten me meidän meidät meihin '
      'meille meillä meiltä meissä meistä meitä mihin miksi mikä mille milloin millä miltä minkä '
      'minua minulla minulle minulta minun minussa minusta minut minuun minä missä mistä miten '
      'mitkä mitä mukaan mutta myös ne niiden niihin niiksi niille niillä niiltä niin niinä '
      'niissä niistä niitä noiden noihin noiksi noilla noille noilta noin noina noissa noista '
      'noita nuo nyt näiden näihin näiksi näille näillä näiltä näinä näissä näistä näitä nämä '
      'ole olemme olen olet olette oli olimme olin olisi olisimme olisin olisit olisitte '
      'olisivat olit olitte olivat olla olleet ollut on ovat poikki se sekä sen siihen siinä '
      'siitä siksi sille sillä siltä sinua sinulla sinulle sinulta sinun sinussa sinusta sinut '
      'sinuun sinä sitä tai tallä te teidän teidät teihin teille teillä teiltä teissä teistä '
      'teitä tuo tuohon tuoksi tuolla tuolle tuolta tuon tuona tuossa tuosta tuotä tähän täksi '
      'tälle tältä tämä tämän tänä tässä tästä tätä vaan vai vaikka vain voi vuonna yli'),
    ('fr', 'àâæçèéêëîïôœùûü',
      'au aux avec ce ces cette comme comment dans de des du elle en entre est et fait fut il la '
      'le les leur leurs lui mais même ne nous on ont ou où par pas peut plus pour quand que '
      'quel quelle quels qui quoi sans se ses son sont sous sur très un une vous étaient était '
      'été être'),
    ('de', 'äöü',
      'aber als am an auch auf aus bei bis das dass dem den der des die diese dieser durch ein '
      'eine einem einer er es für haben hat ihre im in ist kann man mehr mit nach nicht noch nur '
      'oder sehr sein seine sich sie sind so um und unter von vor wann war waren warum was wenn '
      'wer werden wie wird wo wurde wurden zu zum über'),
    ('hu', 'áéíóöőúüű',
      'amely az azt csak de egy el ez ezt ha hogy is ki között lehet majd meg mint már még nem '
      'sem után vagy van volt által és'),
    ('id', 'é',
      'ada adalah akan atau bisa dalam dan dapat dari dengan di ini itu juga kami karena ke '
      'mereka oleh pada saya sebagai telah tersebut tidak untuk yang'),
    ('ga', 'áéíóú',
      'ach ag agus an ar bhfuil bhí do faoi féin go gur is le leis mar na nach ní sa seo siad '
      'sin sé tá'),
    ('it', 'àèéìíîòóù',
      'ad al alla anche che chi come con cosa da dal dei del della delle di dove ed era essere '
      'gli ha il in la le lo loro ma nel nella non per perché più quale quali quando questa '
      'questo se si sia sono stato su sua sulla suo un una è'),
    ('lt', 'ąčęėįšųūž',
      'apie ar bet buvo dėl ir iš jis jo jų kad kaip kurie kuris ne nuo per po savo su tai taip '
      'tik už yra į šis'),
    ('no', 'æøåéòóôê',
      'alle at av bare begge ble blei bli blir blitt både båe da de deg dei deim deira deires '
      'dem den denne der dere deres det dette di din disse ditt du dykk dykkar då eg ein eit '
      'eitt eller elles en enn er et ett etter for fordi fra før ha hadde han hans har hennar '
      'henne hennes her hjå ho hoe honom hoss hossen hun hva hvem hver hvilke hvilken hvis hvor '
      'hvordan hvorfor ikke ikkje ingen ingi inkje inn inni ja jeg kan kom korleis korso kun '
      'kunne kva kvar kvarhelst kven kvi kvifor man mange me med medan meg meget mellom men mi '
      'min mine mitt mot mykje ned no noe noen noka noko nokon nokor nokre nå når og også om opp '
      'oss over på samme seg selv si sia sidan siden sier sin sine sitt sjøl skal skulle slik so '
      'som somme somt så sånn til um under upp ut uten var vart varte ved vere verte vi vil '
      'ville vore vors vort vår være vært å'),
    ('pt', 'áâãàçéêíóôõúü',
      'ao as até com como da das de do dos ele em entre esta este está eu foi há isso já mais '
      'mas muito na no nos não onde os ou para pela pelo pode por quais qual quando que quem se '
      'ser seu seus sobre sua suas são também tem um uma à é'),
    ('ro', 'ăâîșşțţ',
      'al ale au ca care ce cu că dar de din după este fi fost la lor lui mai nu pe pentru prin '
      'sau sunt să un în între și'),
    ('es', 'áéíóúñü',
      'al como con cual cuando cuál cuándo cómo de del desde donde dos dónde el en entre es esta '
      'estas este estos están fue ha había hasta la las le lo los me muy más no otros para pero '
      'por puede que quién qué se ser si sin sobre son su sus también tiene todo un una ya'),
    ('sv', 'åäöéüà',
      'alla allt att av blev bli blir blivit de dem den denna deras dess dessa det detta dig din '
      'dina ditt du där då efter ej eller en er era ert ett från för ha hade han hans har henne '
      'hennes hon honom hur här icke ingen inom inte jag ju kan kunde man med mellan men mer mig '
      'min mina mitt mot mycket ni nu när någon något några och också om oss på samma sedan sig '
      'sin sina sitta själv ska skulle som så sådan sådana sådant till under upp ut utan vad var '
      'vara varför varit varje vars vart vem vi vid vilka vilkas vilken vilket vår våra vårt än '
      'är åt över'),
    ('tr', 'çğıöşüâîû',
      'ama ancak bir bu bunu da daha de değil en gibi hangi her ile ise için kadar kaç ki kim mi '
      'nasıl ne neden nerede olan olarak olduğu sonra tarafından tüm var ve veya ya çok şu'),
    ('lv', 'āčēģīķļņšūž', ''),
    ('pl', 'ąćęłńóśźż',
      'ale być był co czy dla do jak jego jest można na nie od oraz po przez się są ten to tylko '
      'że'),
    ('et', 'äöõüšž',
      'aga ei et ja ka kes kui ma mida mis nende nii ning ole oli olid oma on pole saab seda see '
      'selle siis ta tema või'),
    ('is', 'áðéíóúýþæö', ''), ('vi', 'àáâãèéêìíòóôõùúýăđĩũơưạ-ỹ', ''),
    -- of Czech and Slovak, of Croatian and Slovene, and of scripts that are not told apart
    (null, 'áčďéěíňóřšťúůýžľĺŕäô', ''), (null, 'čćđšž', ''),
    (null, E'\u0a00-\u0a7f\u0b00-\u0b7f\u0d80-\u0dff\u0e80-\u109f\u1780-\u17ff', ''),
    ('hy', 'ա-և', ''), ('el', 'ΐ-ώἀ-῿', ''),
    ('ru', 'а-щьыэюяё',
      'без бы был было в все где для его если же за и из или их к как какая какие какой когда '
      'который кто между мы на не но о он она они от по при с сколько так также то только у чем '
      'что чтобы это я'),
    ('sr', 'а-ик-шјљњћђџ', 'али би да до за и из или као који ли на не од са се су то у што је'),
    ('uk', 'а-щьюяєіїґ',
      'або але би був було в вона вони все від для до же з за й його ми на не по про та так '
      'також то у це що як який є і із'),
    ('bg', 'а-ъью-я',
      'бе в да е за и или има като който която към на не но от по при с са се това той че ще'),
    ('mk', 'а-ик-шјљњќѓѕџ', 'во да е за и на не од се со'), ('be', 'а-зй-шыьэюяёіў', ''),
    ('kk', 'а-хшыюяәғқңұүһөі', ''),
    ('ar', 'ء-يً-ْ',
      'أن أو إلى التي الذي بعد بين ذلك على عن في قد كان كانت كما لا ما مع من هذا هذه و وقد'),
    ('fa', 'ءآاب-تث-خد-ضط-غفقلمنوهپچژگکیئؤأ',
      'آن از است این با بر برای به بود تا خود در را شد شده می های هم و کرد که یک'),
    ('ur', 'اآبپتٹثجچحخدڈذرڑزژسشصضطظعغفقکگلمنںوہھءیئےؤۓ',
      'اس اور ایک بھی تھا سے میں نہیں نے پر کا کر کو کہ کی کے ہیں ہے یہ'),
    -- by number, because the marks of these join what stands before them
    ('hi', E'\u0900-\u0932\u0934-\u0963',
      'इस एक और कर का कि की के को गया था थे नहीं ने पर भी में यह लिए से है हैं'),
    ('ne', E'\u0900-\u0932\u0934-\u093b\u093d-\u0963',
      'एक को गरेको गर्न छ छन् तथा थियो पनि भएको मा यो र लागि ले हो'),
    ('mr', E'\u0900-\u093b\u093d-\u0963',
      'आणि आहे आहेत एक केले च्या ते तो नाही मध्ये या व हा हे होता होते'),
    ('he', E'\u0590-\u05ff', ''), ('bn', E'\u0980-\u09ff', ''), ('gu', E'\u0a80-\u0aff', ''),
    ('ta', E'\u0b80-\u0bff', ''), ('te', E'\u0c00-\u0c7f', ''), ('kn', E'\u0c80-\u0cff', ''),
    ('ml', E'\u0d00-\u0d7f', ''), ('th', E'\u0e00-\u0e7f', ''), ('ka', E'\u10a0-\u10ff', ''),
    ('ko', E'\u1100-\u11ff\uac00-\ud7af', ''),
    -- Japanese writes some words in the letters of Chinese
    ('ja', E'\u3005\u3040-\u30ff\u3400-\u9fff', ''),
    ('zh', E'\u3400-\u9fff', '')) v (language, letters, words)) s
    left join ragdb_internal.text_configs() c on c.language = s.language;
end;

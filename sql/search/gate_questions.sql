-- What the gate of a corpus is calibrated by: pieces of its own texts, and questions about
-- something else.
--
-- These questions are ours and the same everywhere: to take them from other
-- corpora would let who writes those move this floor, and tell of what they say. Whoever writes to
-- a corpus moves its own floor, hence the least and the most that it can be.

-- Lists questions about something else for corpora of a text configuration: in its language where
-- it is Arabic, Dutch, French, German, Hindi, Italian, Portuguese, Russian, Spanish or Turkish; in
-- Thai, which has no configuration, where most of its own pieces is in Thai letters; else in
-- English. Of every day, which few corpora answer. In another language than the corpus's nearly all
-- words are missing, and the floor would be low.
create or replace function ragdb_internal.other_questions(text_config text, own text[])
returns text[]
language sql immutable parallel safe
return case case when (
      select 2 * sum(pg_catalog.length(pg_catalog.regexp_replace(o, '[^ก-๛]+', '', 'g')))
        > sum(pg_catalog.length(o))
      from pg_catalog.unnest(other_questions.own) o)
  then 'thai' else other_questions.text_config end
  when 'german' then array[
    'Wie lange muss ein Braten ruhen, bevor er angeschnitten wird?',
    'Welche Mannschaft gewann die erste Fußballweltmeisterschaft in Uruguay?',
    'Wann ist die beste Zeit, einen Apfelbaum zu schneiden?',
    'Wie viele Saiten hat eine spanische Gitarre?',
    'Wer malte die Decke der Sixtinischen Kapelle?',
    'Wie bekomme ich Rotwein aus einem weißen Teppich?',
    'Welcher Planet hat den größten Mond im Sonnensystem?',
    'Wie viel Schlaf braucht ein Kind von drei Jahren?',
    'Wo verbringen die Schwalben den Winter?',
    'Welche Impfungen werden für eine Reise nach Kenia empfohlen?',
    'Wie wird eine Fahrradkette gereinigt und geölt?',
    'Was zieht man zu einem Bewerbungsgespräch in einer Bank an?']
  when 'french' then array[
    'Combien de temps une dinde doit-elle reposer avant la découpe?',
    'Quelle équipe a gagné la première coupe du monde de football en Uruguay?',
    'Quelle est la meilleure saison pour tailler un pommier?',
    'Combien de cordes possède une guitare espagnole?',
    'Qui a peint le plafond de la chapelle Sixtine?',
    'Comment enlever du vin rouge sur un tapis blanc?',
    'Quelle planète a la plus grande lune du système solaire?',
    'De combien de sommeil un enfant de trois ans a-t-il besoin?',
    'Où les hirondelles passent-elles l''hiver?',
    'Quels vaccins sont conseillés pour un voyage au Kenya?',
    'Comment nettoyer et huiler une chaîne de vélo?',
    'Que porter pour un entretien d''embauche dans une banque?']
  when 'spanish' then array[
    '¿Cuánto tiempo debe reposar un pavo antes de cortarlo?',
    '¿Qué equipo ganó el primer mundial de fútbol en Uruguay?',
    '¿Cuál es la mejor época para podar un manzano?',
    '¿Cuántas cuerdas tiene una guitarra española?',
    '¿Quién pintó el techo de la Capilla Sixtina?',
    '¿Cómo se quita el vino tinto de una alfombra blanca?',
    '¿Qué planeta tiene la luna más grande del sistema solar?',
    '¿Cuánto debe dormir un niño de tres años?',
    '¿Dónde pasan el invierno las golondrinas?',
    '¿Qué vacunas se recomiendan para un viaje a Kenia?',
    '¿Cómo se limpia y se engrasa la cadena de una bicicleta?',
    '¿Qué ropa conviene para una entrevista de trabajo en un banco?']
  when 'italian' then array[
    'Quanto deve riposare un tacchino prima di essere tagliato?',
    'Quale squadra vinse il primo mondiale di calcio in Uruguay?',
    'Qual è la stagione migliore per potare un melo?',
    'Quante corde ha una chitarra spagnola?',
    'Chi dipinse il soffitto della Cappella Sistina?',
    'Come si toglie il vino rosso da un tappeto bianco?',
    'Quale pianeta ha la luna più grande del sistema solare?',
    'Di quanto sonno ha bisogno un bambino di tre anni?',
    'Dove passano l''inverno le rondini?',
    'Quali vaccini sono consigliati per un viaggio in Kenya?',
    'Come si pulisce e si lubrifica la catena della bicicletta?',
    'Come ci si veste per un colloquio di lavoro in banca?']
  when 'dutch' then array[
    'Hoe lang moet een kalkoen rusten voordat hij wordt gesneden?',
    'Welk elftal won het eerste wereldkampioenschap voetbal in Uruguay?',
    'Wat is het beste seizoen om een appelboom te snoeien?',
    'Hoeveel snaren heeft een Spaanse gitaar?',
    'Wie schilderde het plafond van de Sixtijnse Kapel?',
    'Hoe krijg ik rode wijn uit een wit tapijt?',
    'Welke planeet heeft de grootste maan van het zonnestelsel?',
    'Hoeveel slaap heeft een kind van drie jaar nodig?',
    'Waar brengen zwaluwen de winter door?',
    'Welke inentingen worden aangeraden voor een reis naar Kenia?',
    'Hoe maak ik een fietsketting schoon en vet ik hem in?',
    'Wat trek je aan voor een sollicitatiegesprek bij een bank?']
  when 'portuguese' then array[
    'Quanto tempo deve um peru repousar antes de ser cortado?',
    'Que equipa venceu o primeiro campeonato mundial de futebol no Uruguai?',
    'Qual é a melhor época para podar uma macieira?',
    'Quantas cordas tem uma guitarra espanhola?',
    'Quem pintou o teto da Capela Sistina?',
    'Como se tira vinho tinto de um tapete branco?',
    'Que planeta tem a maior lua do sistema solar?',
    'De quantas horas de sono precisa uma criança de três anos?',
    'Onde passam as andorinhas o inverno?',
    'Que vacinas são aconselhadas para uma viagem ao Quénia?',
    'Como se limpa e se lubrifica a corrente de uma bicicleta?',
    'Que roupa se deve usar numa entrevista de emprego num banco?']
  when 'russian' then array[
    'Как долго индейка должна отдыхать перед разделкой?',
    'Какая команда выиграла первый чемпионат мира по футболу в Уругвае?',
    'Когда лучше всего обрезать яблоню?',
    'Сколько струн у испанской гитары?',
    'Кто расписал потолок Сикстинской капеллы?',
    'Как вывести красное вино с белого ковра?',
    'У какой планеты самый большой спутник в Солнечной системе?',
    'Сколько должен спать трёхлетний ребёнок?',
    'Где зимуют ласточки?',
    'Какие прививки рекомендуют для поездки в Кению?',
    'Как чистят и смазывают велосипедную цепь?',
    'Что надеть на собеседование в банке?']
  when 'turkish' then array[
    'Hindi kesilmeden önce ne kadar dinlendirilmelidir?',
    'Uruguay''daki ilk Dünya Kupası''nı hangi takım kazandı?',
    'Elma ağacını budamak için en iyi mevsim hangisidir?',
    'İspanyol gitarının kaç teli vardır?',
    'Sistina Şapeli''nin tavanını kim boyadı?',
    'Beyaz halıdan kırmızı şarap lekesi nasıl çıkar?',
    'Güneş sisteminde en büyük uydu hangi gezegendedir?',
    'Üç yaşındaki bir çocuğun ne kadar uykuya ihtiyacı vardır?',
    'Kırlangıçlar kışı nerede geçirir?',
    'Kenya gezisi için hangi aşılar önerilir?',
    'Bisiklet zinciri nasıl temizlenir ve yağlanır?',
    'Bankadaki iş görüşmesine ne giyilir?']
  when 'arabic' then array[
    'كم من الوقت يجب أن يرتاح الديك الرومي قبل تقطيعه؟',
    'أي فريق فاز بأول كأس عالم لكرة القدم في أوروغواي؟',
    'ما أفضل موسم لتقليم شجرة التفاح؟',
    'كم وترا للغيتار الإسباني؟',
    'من رسم سقف كنيسة سيستينا؟',
    'كيف أزيل بقعة النبيذ الأحمر من سجادة بيضاء؟',
    'أي كوكب له أكبر قمر في المجموعة الشمسية؟',
    'كم ساعة نوم يحتاج طفل في الثالثة من عمره؟',
    'أين تقضي طيور السنونو الشتاء؟',
    'ما اللقاحات الموصى بها للسفر إلى كينيا؟',
    'كيف تنظف سلسلة الدراجة وتزيت؟',
    'ماذا ألبس لمقابلة عمل في بنك؟']
  when 'hindi' then array[
    'टर्की को काटने से पहले कितनी देर रखना चाहिए?',
    'उरुग्वे में पहला फुटबॉल विश्व कप किस टीम ने जीता?',
    'सेब के पेड़ की छंटाई के लिए सबसे अच्छा मौसम कौन सा है?',
    'स्पेनिश गिटार में कितने तार होते हैं?',
    'सिस्टिन चैपल की छत किसने चित्रित की?',
    'सफेद कालीन से रेड वाइन का दाग कैसे हटाएं?',
    'सौर मंडल में सबसे बड़ा चंद्रमा किस ग्रह का है?',
    'तीन साल के बच्चे को कितनी नींद चाहिए?',
    'अबाबील सर्दियां कहां बिताती हैं?',
    'केन्या की यात्रा के लिए कौन से टीके जरूरी हैं?',
    'साइकिल की चेन कैसे साफ करें और उसमें तेल कैसे डालें?',
    'बैंक में नौकरी के साक्षात्कार के लिए क्या पहनें?']
  when 'thai' then array[
    'ควรพักไก่งวงไว้นานเท่าไรก่อนหั่น',
    'ทีมใดชนะฟุตบอลโลกครั้งแรกที่อุรุกวัย',
    'ฤดูไหนเหมาะที่สุดสำหรับตัดแต่งต้นแอปเปิล',
    'กีตาร์สเปนมีกี่สาย',
    'ใครวาดภาพบนเพดานโบสถ์น้อยซิสทีน',
    'จะล้างคราบไวน์แดงออกจากพรมสีขาวได้อย่างไร',
    'ดาวเคราะห์ดวงใดมีดวงจันทร์ใหญ่ที่สุดในระบบสุริยะ',
    'เด็กอายุสามขวบควรนอนกี่ชั่วโมง',
    'นกนางแอ่นอยู่ที่ไหนในฤดูหนาว',
    'ควรฉีดวัคซีนอะไรก่อนเดินทางไปเคนยา',
    'ทำความสะอาดและหยอดน้ำมันโซ่จักรยานอย่างไร',
    'ควรใส่ชุดอะไรไปสัมภาษณ์งานที่ธนาคาร']
  else array[
    'How long must a turkey rest before it is carved?',
    'Which team won the first football world cup in Uruguay?',
    'Why do cats purr when they are stroked?',
    'What is the best season to prune an apple tree?',
    'How many strings does a Spanish guitar have?',
    'Who painted the ceiling of the Sistine Chapel?',
    'What does a pawn become at the far end of the board?',
    'How is a sourdough starter kept alive over the holidays?',
    'When does the tide come in at the harbour of Saint Malo?',
    'Which gloves are warm enough for skiing in Norway?',
    'How do I get red wine out of a white carpet?',
    'Which planet has the largest moon in the solar system?',
    'How high is the toll for a caravan on the Italian motorway?',
    'What did Napoleon say after the battle of Waterloo?',
    'How do bees tell each other where the flowers are?',
    'Which knot holds a hammock between two trees?',
    'How much sleep does a child of three years need?',
    'What is the difference between a violin and a viola?',
    'Where do swallows spend the winter?',
    'Which spices belong into a Moroccan tagine?',
    'How is a bicycle chain cleaned and oiled?',
    'What is the tallest building in Dubai used for?',
    'How do I teach my dog to walk on a leash?',
    'Which vaccinations are advised for a journey to Kenya?',
    'How many players of a rugby team may kick the ball?',
    'What colour was the dress of the bride at the royal wedding?',
    'How deep should tulip bulbs be planted in autumn?',
    'Who wrote the novel about a whale and a captain?',
    'What makes the crust of a baguette crisp?',
    'Which actor played the butler in the silent film?',
    'Why does the moon look larger near the horizon?',
    'How much rent may a landlord ask for a parking space?',
    'When was the lighthouse on the island rebuilt after the storm?',
    'What should I wear to a job interview in a bank?',
    'How many eggs does a hen lay in a year?',
    'How do I sharpen a kitchen knife with a whetstone?'] end;

-- Returns pieces of up to 64 characters from chunks spread over a corpus or its parts, the same for
-- the same corpus; 36 at most. About ten words; where words have no spaces between them, as many
-- characters.
create or replace function ragdb_internal.own_questions(corpus ragdb.corpora) returns text[]
language sql stable parallel safe
begin atomic
  select coalesce(pg_catalog.array_agg(p.piece order by p.n) filter (where p.piece ~ '\S'), '{}')
  from (
    select i.n, case when pg_catalog.length(w.whole) > 24 then w.whole else s.piece end as piece
    from (
        select m.corpus_id, m.next_chunk_no - 1::bigint as numbers,
          sum(m.next_chunk_no - 1) over (order by m.corpus_id) - m.next_chunk_no + 1 as before,
          sum(m.next_chunk_no - 1) over () as total
        from pg_catalog.unnest(ragdb_internal.members(own_questions.corpus)) m) p
      cross join pg_catalog.generate_series(0, 35) i (n)
      cross join lateral (
        select c.text from ragdb.chunks c
        where c.corpus_id = p.corpus_id and c.chunk_no >= 1 + i.n * p.total / 36 - p.before
        order by c.chunk_no limit 1) k
      cross join lateral (
        select pg_catalog.substr(k.text,
          1 + i.n * 7919 % greatest(1, pg_catalog.length(k.text) - 64), 64) as piece offset 0) s
      cross join lateral (
        select pg_catalog.regexp_replace(s.piece, '^\S*\s+|\s+\S*$', '', 'g') as whole offset 0) w
    where i.n * p.total / 36 >= p.before and i.n * p.total / 36 < p.before + p.numbers
  ) p;
end;

create or replace function ragdb.gate_questions(corpus text)
returns table (question text, is_own boolean)
language sql stable security definer
set search_path = pg_catalog, pg_temp
begin atomic
  select q.question, q.is_own
  from ragdb_internal.open_corpus(gate_questions.corpus, 'write', true) c
    cross join lateral (select ragdb_internal.own_questions(c) as own offset 0) w
    cross join lateral (
      select o.question, true from pg_catalog.unnest(w.own) o (question)
      union all
      select o.question, false
      from pg_catalog.unnest(ragdb_internal.other_questions(c.text_config, w.own)) o (question))
      q (question, is_own);
end;
comment on function ragdb.gate_questions is
  'Returns what the gate of a corpus is calibrated by: pieces of its own texts, and questions '
  'about something else. Where a model outside embeds the corpus, put_query_embedding of each '
  'comes before calibrate_gate. Raises RG400, RG401, RG404.';

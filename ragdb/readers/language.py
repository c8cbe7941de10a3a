"""A guess at a text's language, for the languages that PostgreSQL stems and the larger scripts.

Scripts that one language writes decide at once; Latin, Cyrillic, Arabic and Devanagari are told
apart by function words, the classic method of Grefenstette (1995), and by letters that only one of
them has. It looks at the beginning only. `ragdb.put_text` asks sql/text/languages.sql, which has
PostgreSQL's stop words.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import cache

_SAMPLE = 1_500
_MAX_WORDS = 200
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")

# words of one script, most telling first; a word of several languages counts for each of them
_FUNCTION_WORDS = {
    "ca": "el la els les un una de del dels i que és en per amb no es al als com més aquest"
    " aquesta però seva seu són va ser també ha on han",
    "da": "og i at det en den til er som på de med for af ikke der var han et har jeg om vi"
    " men et blev efter ved fra kan sig eller være også nogle",
    "de": "der die und in den von zu das mit sich des auf für ist im dem nicht ein eine als"
    " auch es an werden aus er hat dass sie nach wird bei einer um am sind noch wie"
    " einem über so zum war",
    "en": "the of and to in a is that for it as was with be by on not he i this are or his"
    " from at which but have an had they you were their one all we can her has there"
    " been if more when will would who so no your",
    "es": "de la que el en y a los se del las un por con no una su para es al lo como más o"
    " pero sus le ha me si sin sobre este ya entre cuando todo esta ser son dos"
    " también fue había muy",
    "et": "ja on ei et see ta oli kui mis aga ka oma ning või ma siis nii selle kes mida"
    " olid tema seda nende ole pole saab",
    "eu": "eta da ez ere dira izan zen bat egin du dute zuen bere baina den edo duen hau"
    " horrek dela ditu beste egiten zuten",
    "fi": "ja on ei se että oli hän mutta ovat kun myös joka sen niin kuin tai mukaan jos"
    " ole olla ollut jotka siitä voi hänen tämä minä vain",
    "fr": "de la le et les des en un du une que est pour qui dans a par plus pas au sur ne"
    " se ce il sont avec son aux ou mais nous comme cette elle été ont leur être fait"
    " ses ces vous",
    "ga": "agus an na is a ar go i ag le do bhí sé tá ní ach sin seo leis nach mar bhfuil"
    " gur féin sa faoi siad",
    "hu": "a az és hogy nem is egy volt ez meg csak de még ki el van mint már vagy ha azt"
    " sem után ezt által lehet amely között majd",
    "id": "yang dan di dengan untuk dari ini pada itu dalam tidak adalah akan ke oleh juga"
    " sebagai atau mereka telah dapat bisa ada karena kami saya tersebut",
    "it": "di e il la che in un a è per una non sono con i da del le si dei al lo ha come"
    " della più nel gli alla anche delle ma o se su questo essere dal era",
    "lt": "ir yra kad į iš su tai kaip bet ne buvo jis o ar apie po už dėl jo jų taip nuo"
    " tik šis savo per kurie kuris",
    "nl": "de van het een en in is dat op te zijn met voor niet aan er om die als ook maar"
    " bij dit door naar uit wordt werd heeft ze over hij was nog worden hebben deze",
    "no": "og i er det på som en til at av for med de ikke den har om et fra var han vi men"
    " jeg seg sier ble ved eller etter kan skal så være også nå hva noen",
    "pt": "de a o que e do da em um para é com não uma os no se na por mais as dos como mas"
    " foi ao ele das tem à seu sua ou ser quando muito há nos já está eu também são",
    "ro": "și de la în a cu pe nu o care să din un că este pentru mai au fi fost ce sau"
    " prin după sunt ca al ale lui lor dar între",
    "sv": "och i att det som en på är av för med till den har de inte om ett men var jag"
    " sig från så vi kan han när eller också efter vid hade under skulle",
    "tr": "ve bir bu da de için ile çok daha olarak gibi olan en kadar sonra ama ne var"
    " değil o ki her mi olduğu ya tarafından ise",
    "ru": "и в не на что с он как это по но из у к за от о так все было бы же для то был"
    " его она они мы который также или я",
    "uk": "і в не на що з та як це по але із у до за від про так все було би же для то був"
    " його вона вони ми який також або є й",
    "bg": "и в не на че с той като това по но от за се да е са ще или към при която който"
    " има бе",
    "sr": "и у не на да се је за од са су то као али из који или би до што је ли",
    "ar": "في من على أن إلى التي عن مع هذا كان الذي هذه لا ما بعد كما قد بين و أو ذلك وقد"
    " كانت",
    "fa": "و در به از که این را با است برای آن یک خود تا بر شد هم می های شده بود کرد",
    "ur": "کے میں کی ہے سے اور کا کو نے پر یہ کہ اس بھی ہیں ایک تھا نہیں کر",
    "hi": "के में की है से और का को ने पर यह कि इस भी हैं एक था नहीं कर लिए गया थे",
    "mr": "आणि आहे या च्या ते हे व होते तो एक आहेत मध्ये केले नाही होता हा",
    "ne": "र छ मा को ले भएको यो पनि हो लागि गर्न छन् एक थियो गरेको तथा",
}  # fmt: skip

# a script, as Unicode's names begin, that one language writes
_SCRIPTS = {
    "HANGUL": "ko",
    "THAI": "th",
    "GREEK": "el",
    "HEBREW": "he",
    "ARMENIAN": "hy",
    "GEORGIAN": "ka",
    "TAMIL": "ta",
    "BENGALI": "bn",
    "TELUGU": "te",
    "GUJARATI": "gu",
    "KANNADA": "kn",
    "MALAYALAM": "ml",
}
_MEMBERS = {
    "CYRILLIC": ("ru", "uk", "bg", "sr", "kk"),
    "ARABIC": ("ar", "fa", "ur"),
    "DEVANAGARI": ("hi", "mr", "ne"),
}

# letters that one language of those of a script writes: a list or a short text has few function
# words
_LETTERS = {"tr": "ğı", "ru": "ыэё", "uk": "іїєґ", "sr": "јљњћђ", "kk": "әғқңұ", "ar": "ةىأإ",
            "ur": "ٹڈڑںے"}  # fmt: skip

# names that PostgreSQL's configurations have, for people who write them out
NAMES = {
    "arabic": "ar", "armenian": "hy", "basque": "eu", "catalan": "ca", "danish": "da",
    "dutch": "nl", "english": "en", "estonian": "et", "finnish": "fi", "french": "fr",
    "german": "de", "greek": "el", "hindi": "hi", "hungarian": "hu", "indonesian": "id",
    "irish": "ga", "italian": "it", "lithuanian": "lt", "nepali": "ne", "norwegian": "no",
    "portuguese": "pt", "romanian": "ro", "russian": "ru", "serbian": "sr", "spanish": "es",
    "swedish": "sv", "tamil": "ta", "turkish": "tr", "yiddish": "yi",
}  # fmt: skip


def normalise(language: str | None) -> str | None:
    """The primary subtag in lower case (`en-US`, `EN` and `English` are `en`), else None."""
    if not language:
        return None
    primary = re.split(r"[-_.]", language.strip().lower(), maxsplit=1)[0]
    primary = NAMES.get(primary, primary)
    primary = {"nb": "no", "nn": "no", "iw": "he", "in": "id"}.get(primary, primary)
    return primary if re.fullmatch(r"[a-z]{2,3}", primary) else None


def guess(text: str) -> str | None:
    """An ISO 639-1 code, or None for a text too short, mixed or in a language not listed."""
    sample = text[:_SAMPLE]
    script = "LATIN" if sample.isascii() else _script(sample)
    if script is None:
        return None
    if script in _SCRIPTS:
        return _SCRIPTS[script]
    if script in ("CJK", "HIRAGANA", "KATAKANA"):
        return "ja" if re.search("[\u3040-\u30ff]", sample) else "zh"
    words = _WORD.findall(sample.lower())[:_MAX_WORDS]
    if script == "DEVANAGARI":  # its vowel signs are not letters
        words = re.findall("[\u0900-\u0963\u0971-\u097f]+", sample)[:_MAX_WORDS]
    known = _table(script)
    counts: Counter[str] = Counter()
    different: Counter[str] = Counter()
    for word, times in Counter(words).items():
        for code in known.get(word, _lettered(word, script)):
            counts[code] += times
            different[code] += 1
    if not counts:
        return None
    (best, hits), (_, second) = [*counts.most_common(2), ("", 0)][:2]
    # two function words, for one alone may be a name; one every ten words, and more of one language
    # than of any other
    is_told = different[best] >= 2 and hits * 10 >= len(words) and hits > second
    return best if is_told else None


@cache
def _table(script: str) -> dict[str, tuple[str, ...]]:
    members = _MEMBERS.get(script)
    others = {code for codes in _MEMBERS.values() for code in codes}
    table: dict[str, tuple[str, ...]] = {}
    for code, words in _FUNCTION_WORDS.items():
        if code in members if members else code not in others:
            for word in dict.fromkeys(words.split()):
                table[word] = (*table.get(word, ()), code)
    return table


def _lettered(word: str, script: str) -> list[str]:
    """The languages that have a letter of this word for themselves."""
    return [
        code
        for code, letters in _LETTERS.items()
        if code in _MEMBERS.get(script, ("tr",)) and not set(letters).isdisjoint(word)
    ]


def _script(sample: str) -> str | None:
    """The script of most letters."""
    letters = [c for c in sample if c.isalpha()][:300]
    scripts = Counter(_script_of(letter) for letter in letters)
    return scripts.most_common(1)[0][0] if scripts else None


@cache
def _script_of(letter: str) -> str:
    return unicodedata.name(letter, "?").split(" ", 1)[0].split("-", 1)[0]

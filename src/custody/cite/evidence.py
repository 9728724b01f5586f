"""Which sentences carry evidence; this file is the only one that decides it.

A sentence carries evidence if it has a number (digits, or a word for one), a name, a comparison or change, or a
quotation. A name is a word with a capital that does not begin the sentence, an acronym, a title in 《》, or a Chinese
word that ends an institution's name. A sentence that ends with a colon announces what follows, and a short one says too
little: neither carries evidence.
"""

import re

from custody.cite.rules import CiteRules

_DIGIT_OR_QUOTE = re.compile('[0-9０-９“「『《"‘]')
_WORDS = frozenset(
    """dozen dozens hundred hundreds thousand thousands million millions billion billions trillion trillions percent
    half third quarter twice thrice january february march april june july august september october november december
    than more less fewer most least higher lower larger smaller greater faster slower better worse best worst highest
    lowest largest smallest fastest increase increases increased increasing decrease decreases decreased decreasing
    rise rises risen rising rose grow grows grew grown growing growth fell fall falls fallen falling decline declines
    declined declining double doubles doubled doubling triple tripled halved compared versus vs exceed exceeds exceeded
    outperform outperforms outperformed surpass surpasses surpassed drop drops dropped reduce reduces reduced reducing
    reduction""".split()
)
_NAME = re.compile(
    r"(?<=[\w,;:)”’'\"] )[A-Z][\w'’-]*[a-z]|\b[A-Z]{2,}|[a-z][A-Z]|^\W*[A-Z]\w+ [A-Z]\w|(?<=[\u4e00-\u9fff])[A-Za-z]{2}"
)
_CHINESE = re.compile(
    "百分之|[二三四五六七八九十百千万亿两][个名家项年月倍成万亿种次位人元]|一半|数[十百千万亿]"
    "|公司|集团|大学|学院|研究[院所]|研究中心|委员会|协会|学会|银行|法院|政府|国务院|部委|统计局|联盟|基金会|实验室"
    "|比|超过|[高低大小多少]于|优于|不及|增[长加]|下降|提[高升]|降低|上升|减少|扩大|缩小|最[大小高低多少快慢好早]|更[大小高低多少快慢好]|倍|领先|居首|首次|排名"
)
HAN = re.compile("[\u3040-\u30ff\u3400-\u9fff]")
"""One character of Chinese or Japanese."""


def carries_evidence(sentence: str, rules: CiteRules) -> bool:
    """Whether a sentence says something that should rest on a source.

    >>> [carries_evidence(text, CiteRules()) for text in ("The market grew by 12% in 2024.", "This matters a lot.")]
    [True, False]
    """
    text = sentence.rstrip()
    if text.endswith((":", "：")) or not is_long_enough(text, rules):
        return False
    if _DIGIT_OR_QUOTE.search(text) or _NAME.search(text):
        return True
    if not _WORDS.isdisjoint(text.lower().replace(",", " ").replace(".", " ").split()):
        return True
    return not text.isascii() and _CHINESE.search(text) is not None


def is_long_enough(text: str, rules: CiteRules) -> bool:
    """Whether a sentence has enough words, or characters where words are not set apart."""
    if text.count(" ") >= rules.sentence_words_min - 1 and len(text.split()) >= rules.sentence_words_min:
        return True
    return not text.isascii() and len(HAN.findall(text)) >= rules.sentence_signs_min

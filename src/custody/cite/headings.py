"""Which headings announce a list of sources; this file is the only one that knows their names."""

import re

HEADING_CHARACTERS_MAX = 100

_NOUNS = frozenset(
    """sources source references reference refs bibliography footnotes endnotes notes citations literature works
    quellen quellenverzeichnis quellenangaben literaturverzeichnis literatur einzelnachweise fußnoten
    références bibliographie referencias fuentes bibliografía referências fontes bibliografia riferimenti fonti
    источники литература 출처 참고문헌""".split()
)
_BESIDE = frozenset(
    """key main primary secondary selected cited full complete all data research additional further external numbered
    official the used consulted with and of list table section url urls index summary inline notes links web online
    information appendix report our annotated footnote citation for this to""".split()
)
_CHINESE = re.compile(
    "(?:主要|部分|关键|核心|重要|本文|本报告|报告|相关|数据|信息|资料|文献|参考|引用|引文|引证|注释|附注|脚注|尾注|来源|出处|出典"
    "|链接|列表|书目|清单|目录|说明|网址|网站|官方|外部|完整|全部|主な|一覧|および|参照|文献|附录|与|和|及|的|汇总|索引|序号|編號|參考|資料|來源|資訊)+"
)
_CHINESE_NOUN = re.compile("参考|參考|来源|來源|引用|引文|文献|文獻|脚注|注释|附注|尾注|出处|出典|书目|参照")
_HAN = re.compile("[\u3040-\u30ff\u4e00-\u9fff]")
_WORDS = re.compile(r"[^\W\d_]+")
_ROMAN = re.compile(r"[ivxl]{1,6}|[a-z]", re.IGNORECASE)
_LEADING = re.compile(r"^[\s#*_]*第?[一二三四五六七八九十百]+[\s、.．:：章节部]+")


def names_a_list(heading: str) -> bool:
    """Whether a heading says that sources follow: every word is a name for them, or may stand beside one.

    >>> names_a_list("7. Key References & Sources:"), names_a_list("八、参考文献"), names_a_list("Sources of Funding")
    (True, True, False)
    """
    if len(heading) > HEADING_CHARACTERS_MAX:
        return False
    words = _WORDS.findall(heading.casefold())
    if _NOUNS.isdisjoint(words) and (heading.isascii() or _CHINESE_NOUN.search(heading) is None):
        return False
    for word in _WORDS.findall(_LEADING.sub("", heading).casefold()):
        if _HAN.search(word):
            if _CHINESE.fullmatch(word) is None:
                return False
        elif word not in _NOUNS and word not in _BESIDE and _ROMAN.fullmatch(word) is None:
            return False
    return True

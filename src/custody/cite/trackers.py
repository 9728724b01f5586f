"""Names of query parameters that say who led somebody to a page, never which page it is.

What is on no list stays: ``ref``, ``source``, ``id``, ``v`` and ``page`` choose pages somewhere and are never here.
"""

from collections.abc import Mapping
from types import MappingProxyType

PREFIXES = ("utm_", "mtm_", "hsa_", "_hsenc", "_hsmi", "oly_enc_", "oly_anon_")
"""What begins so is a tracker on every host."""

EVERYWHERE = frozenset(
    "gclid gclsrc dclid gbraid wbraid srsltid _ga _gl fbclid fb_action_ids fb_action_types fb_ref fb_source igshid igsh"
    " msclkid yclid ysclid _openstat twclid ttclid li_fat_id epik rb_clickid irclickid vero_id vero_conv wickedid"
    " mc_cid mc_eid mkt_tok ml_subscriber ml_subscriber_hash __hstc __hssc __hsfp hsctatracking"
    " pk_campaign pk_kwd pk_keyword pk_source pk_medium pk_content pk_cid piwik_campaign piwik_kwd matomo_campaign"
    " matomo_kwd matomo_source matomo_medium spm_id_from vd_source guccounter guce_referrer guce_referrer_sig"
    " __twitter_impression ref_src ref_url".split()
)
"""Trackers by their whole name, in small letters, on every host."""

BY_SITE: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        site: frozenset(names.split())
        for site, names in (
            ("bilibili.com", "from_spmid share_source share_medium share_plat share_session_id unique_k plat_id bbid"),
            ("csdn.net", "spm ops_request_misc request_id biz_id depth_1-utm_source"),
            ("aliyun.com", "spm scm"),
            ("taobao.com", "spm"),
            ("zhihu.com", "share_code s_r"),
            (
                "weixin.qq.com",
                "chksm scene srcid sharer_shareinfo sharer_shareinfo_first exportkey pass_ticket wx_header",
            ),
            ("twitter.com", "s t cxt"),
            ("x.com", "s t cxt"),
            ("youtube.com", "si feature pp ab_channel"),
            ("youtu.be", "si feature"),
            ("spotify.com", "si nd"),
            ("reddit.com", "share_id rdt chainedposts"),
            ("linkedin.com", "trk trackingid lipi lici midtoken midsig"),
            ("nytimes.com", "smid smtyp partner emc"),
            ("washingtonpost.com", "wpisrc wpmm"),
            ("theguardian.com", "cmp"),
            (
                "bbc.co.uk",
                "at_medium at_campaign at_link_id at_link_type at_link_origin at_format at_ptr_name at_bbc_team",
            ),
            (
                "bbc.com",
                "at_medium at_campaign at_link_id at_link_type at_link_origin at_format at_ptr_name at_bbc_team",
            ),
            ("wsj.com", "mod reflink st"),
            ("bloomberg.com", "srnd sref"),
            ("sciencedirect.com", "via"),
        )
    }
)
"""Trackers that are ordinary names elsewhere, by the site on which they are only that; names in small letters."""


def is_tracker(host: str, name: str) -> bool:
    """Whether a parameter of this name only says how somebody came to a page of ``host``.

    >>> is_tracker("example.org", "utm_source"), is_tracker("example.org", "si"), is_tracker("m.youtube.com", "si")
    (True, False, True)
    """
    small = name.lower()
    if small in EVERYWHERE or small.startswith(PREFIXES):
        return True
    parts = host.split(".")
    return any(small in BY_SITE.get(".".join(parts[at:]), ()) for at in range(len(parts) - 1))

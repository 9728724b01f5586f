"""Secrets with a known shape: one table, plain data.

A row has the name in the redaction; literals (every match contains one, see ``secret_scan.TOKENS`` and
``secret_scan.MARKERS``); the pattern; the group of the secret; and its minimum share of odd pairs, or None if the shape
is enough. Patterns use only what ``re`` and RE2 share: no back-references, no look-around. They take linear time: no
unbounded repetition inside another, or before something that must follow; a test checks this.

Shapes are those that the services publish. Other secrets are found by the name beside them
(``secret_scan.find_named_secret_values``) or by being random (``secret_scan.find_random_parts``).
"""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing takes longer than this module
if TYPE_CHECKING:
    from typing import Final


class SecretPattern:
    """One row of the table."""

    __slots__ = ("floor", "group", "is_of_one_line", "literals", "name", "pattern")

    def __init__(self, name: str, literals: str, pattern: str, group: int = 0, floor: float | None = None) -> None:
        self.name = name
        self.literals = tuple(literals.split("  "))
        self.pattern = pattern
        self.group = group
        self.floor = floor
        self.is_of_one_line = "\\s" not in pattern and "\\n" not in pattern


RULES: Final = (
    # custody
    SecretPattern("custody-token", "cdy_", r"cdy_[0-9a-f]{64}"),
    # Clouds
    SecretPattern("aws-key-id", "AKIA  ASIA  ABIA  ACCA", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}"),
    SecretPattern(
        "aws-session", "IQoJb3JpZ2lu  FwoGZXIvYXdz", r"(?:IQoJb3JpZ2lu|FwoGZXIvYXdz)[A-Za-z0-9+/_-]{80,}={0,2}"
    ),
    SecretPattern("aws-bedrock-key", "ABSK", r"ABSK[A-Za-z0-9+/]{100,}={0,2}"),
    SecretPattern("google-key", "AIza", r"AIza[0-9A-Za-z_-]{35}"),
    SecretPattern("google-secret", "GOCSPX-", r"GOCSPX-[0-9A-Za-z_-]{28}"),
    SecretPattern("google-token", "ya29.", r"ya29\.[0-9A-Za-z_-]{20,}"),
    SecretPattern("alibaba-key", "LTAI", r"LTAI[0-9A-Za-z]{12,26}", 0, 0.3),
    SecretPattern("azure-secret", "Q~", r"[0-9A-Za-z_~.]{3}[0-9]Q~[0-9A-Za-z_~.-]{31,34}"),
    SecretPattern("cloudflare-key", "v1.0-", r"v1\.0-[0-9a-f]{24}-[0-9a-f]{146}"),
    SecretPattern("digitalocean-token", "dop_v1_  doo_v1_  dor_v1_", r"do[opr]_v1_[0-9a-f]{64}"),
    SecretPattern("supabase-token", "sbp_", r"sbp_(?:v0_)?[0-9a-f]{40}"),
    SecretPattern("fly-token", "fm1a_  fm1r_  fm2_  fo1_", r"(?:fm1[ar]_|fm2_|fo1_)[0-9A-Za-z+/_-]{40,}={0,3}"),
    SecretPattern("netlify-token", "nfp_", r"nfp_[0-9A-Za-z_-]{36,}"),
    SecretPattern("render-key", "rnd_", r"rnd_[0-9A-Za-z]{28,}", 0, 0.3),
    SecretPattern("planetscale-token", "pscale_", r"pscale_(?:tkn|oauth|pw)_[0-9A-Za-z_=.-]{32,64}"),
    SecretPattern("heroku-key", "HRKU-", r"HRKU-[0-9A-Za-z_-]{36,64}"),
    # Code hosts
    SecretPattern("github-token", "ghp_  gho_  ghu_  ghs_  ghr_", r"gh[opsur]_[0-9A-Za-z]{36,255}"),
    SecretPattern("github-token", "github_pat_", r"github_pat_[0-9A-Za-z_]{22,255}"),
    SecretPattern(
        "gitlab-token",
        "glpat-  gldt-  glrt-  glptt-  glft-  glsoat-  glimt-  glagent-  gloas-  glcbt-  glffct-",
        r"gl(?:pat|dt|rt|ptt|ft|soat|imt|agent|oas|cbt|ffct)-[0-9A-Za-z_-]{20,300}(?:\.[0-9a-z]{2}\.?[0-9a-z]{7})?",
    ),
    SecretPattern("gitlab-token", "GR1348941", r"GR1348941[0-9A-Za-z_-]{20}"),
    SecretPattern(
        "atlassian-token", "ATBB  ATCTT3  ATATT3", r"AT(?:BB[0-9A-Za-z]{32}|(?:CTT3|ATT3)[0-9A-Za-z_=-]{60,})"
    ),
    SecretPattern("sourcegraph-token", "sgp_", r"sgp_(?:(?:[0-9a-fA-F]{16}|local)_)?[0-9a-fA-F]{40}"),
    # Package registries
    SecretPattern("pypi-token", "pypi-AgE", r"pypi-AgE[0-9A-Za-z_-]{50,1000}"),
    SecretPattern("rubygems-key", "rubygems_", r"rubygems_[0-9a-f]{48}"),
    SecretPattern("docker-token", "dckr_pat_  dckr_oat_", r"dckr_[po]at_[0-9A-Za-z_-]{24,}"),
    SecretPattern("artifactory-key", "AKCp  cmVmdGtu", r"(?:AKCp[0-9A-Za-z]{60,}|cmVmdGtu[0-9A-Za-z]{50,})"),
    SecretPattern("clojars-token", "CLOJARS_", r"CLOJARS_[0-9a-z]{60}"),
    # Chat
    SecretPattern(
        "slack-token",
        "xoxb-  xoxp-  xoxa-  xoxr-  xoxs-  xoxo-  xoxe  xoxd-  xoxc-  xapp-",
        r"(?:xox[abcdoprs]-|xoxe[.-]|xapp-)[0-9A-Za-z%.+/=-]{10,400}",
        0,
        0.0,
    ),
    SecretPattern(
        "slack-webhook",
        "hooks.slack.com/",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/([0-9A-Za-z+/_-]{20,200})",
        1,
    ),
    SecretPattern("discord-webhook", "api/webhooks/", r"api/webhooks/([0-9]{10,20}/[0-9A-Za-z_-]{30,100})", 1),
    SecretPattern(
        "teams-webhook", ".webhook.office.com", r"\.webhook\.office\.com/webhookb2/([0-9A-Za-z@/-]{36,400})", 1
    ),
    SecretPattern("telegram-token", ":AA", r"[0-9]{8,10}:AA[0-9A-Za-z_-]{33}"),
    SecretPattern("matrix-token", "syt_", r"syt_[0-9A-Za-z]{1,100}_[0-9A-Za-z]{20}_[0-9A-Za-z]{6}"),
    # Payments
    SecretPattern("stripe-key", "sk_live_  sk_test_  rk_live_  rk_test_", r"[rs]k_(?:live|test)_[0-9A-Za-z]{10,247}"),
    SecretPattern("webhook-secret", "whsec_", r"whsec_[0-9A-Za-z+/]{24,100}={0,2}"),
    SecretPattern("square-token", "sq0atp-  sq0csp-", r"sq0(?:atp|csp)-[0-9A-Za-z_-]{22,43}"),
    SecretPattern("square-token", "EAAA", r"(?:^|[^0-9A-Za-z+/=_-])(EAAA[0-9A-Za-z_-]{60})", 1),
    SecretPattern(
        "shopify-token", "shpat_  shpss_  shpca_  shppa_  shptka_", r"shp(?:at|ss|ca|pa|tka)_[0-9a-fA-F]{32,64}"
    ),
    SecretPattern("razorpay-key", "rzp_live_  rzp_test_", r"rzp_(?:live|test)_[0-9A-Za-z]{14,}"),
    SecretPattern("flutterwave-key", "FLWSECK", r"FLWSECK(?:_TEST)?-[0-9A-Za-z]{12,64}(?:-X)?"),
    SecretPattern(
        "braintree-token", "access_token$", r"access_token\$(?:production|sandbox)\$[0-9a-z]{16}\$[0-9a-f]{32}"
    ),
    SecretPattern("easypost-key", "EZAK  EZTK", r"EZ[AT]K[0-9A-Za-z]{54}"),
    SecretPattern("duffel-token", "duffel_", r"duffel_(?:test|live)_[0-9A-Za-z_=-]{43}"),
    SecretPattern("shippo-token", "shippo_", r"shippo_(?:live|test)_[0-9a-f]{40}"),
    # Models
    SecretPattern("openai-key", "T3BlbkFJ", r"sk-[0-9A-Za-z_-]{20,200}T3BlbkFJ[0-9A-Za-z_-]{20,200}"),
    SecretPattern(
        "model-key",
        "sk-ant-  sk-proj-  sk-svcacct-  sk-admin-  sk-or-  sk-lf-",
        r"sk-(?:ant|proj|svcacct|admin|or|lf)-[0-9A-Za-z_-]{20,300}",
        0,
        0.2,
    ),
    SecretPattern("huggingface-token", "hf_  api_org_", r"(?:hf|api_org)_[A-Za-z0-9]{34,40}", 0, 0.3),
    SecretPattern("replicate-token", "r8_", r"r8_[0-9A-Za-z]{37,40}", 0, 0.3),
    SecretPattern("groq-key", "gsk_", r"gsk_[0-9A-Za-z]{40,60}", 0, 0.3),
    SecretPattern("perplexity-key", "pplx-", r"pplx-[0-9A-Za-z]{40,64}", 0, 0.3),
    SecretPattern("pinecone-key", "pcsk_", r"pcsk_[0-9A-Za-z]{4,8}_[0-9A-Za-z]{40,80}"),
    SecretPattern("langsmith-key", "lsv2_", r"lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}"),
    # Services
    SecretPattern("sendgrid-key", "SG.", r"SG\.[0-9A-Za-z_-]{20,24}\.[0-9A-Za-z_-]{40,50}"),
    SecretPattern("linear-key", "lin_api_  lin_oauth_", r"lin_(?:api|oauth)_[0-9A-Za-z]{32,64}"),
    SecretPattern("notion-token", "ntn_", r"ntn_[0-9]{11}[0-9A-Za-z]{35}"),
    SecretPattern("figma-token", "figd_", r"figd_[0-9A-Za-z_-]{38,60}"),
    SecretPattern("sentry-token", "sntrys_  sntryu_", r"(?:sntryu_[0-9a-f]{64}|sntrys_[0-9A-Za-z+/=_]{40,500})"),
    SecretPattern(
        "grafana-token", "glsa_  glc_", r"(?:glsa_[0-9A-Za-z]{32}_[0-9A-Fa-f]{8}|glc_[0-9A-Za-z+/]{32,400}={0,3})"
    ),
    SecretPattern("databricks-token", "dapi", r"dapi[0-9a-f]{32}(?:-[0-9])?"),
    SecretPattern("dynatrace-token", "dt0c01.  dt0s16.", r"dt0[a-z][0-9]{2}\.[0-9A-Z]{8,24}\.[0-9A-Z]{64}"),
    SecretPattern(
        "doppler-token",
        "dp.pt.  dp.st.  dp.ct.  dp.sa.  dp.scim.  dp.audit.",
        r"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[0-9A-Za-z]{40,44}",
    ),
    SecretPattern("vault-token", "hvs.  hvb.  hvr.", r"hv[bsr]\.[0-9A-Za-z_-]{24,300}"),
    SecretPattern("terraform-token", ".atlasv1.", r"[0-9A-Za-z]{14}\.atlasv1\.[0-9A-Za-z_=-]{60,70}"),
    SecretPattern("pulumi-token", "pul-", r"pul-[0-9a-f]{40}"),
    SecretPattern("circleci-token", "CCIPAT_  CCIPRJ_", r"CCIP(?:AT|RJ)_[0-9A-Za-z]{20,24}_[0-9a-f]{40}"),
    SecretPattern("buildkite-token", "bkua_  bkaj_", r"bk(?:ua|aj)_[0-9a-z]{40}"),
    SecretPattern("sonar-token", "sqp_  squ_  sqa_", r"sq[apu]_[0-9a-f]{40}"),
    SecretPattern("posthog-key", "phx_", r"phx_[0-9A-Za-z_-]{40,60}"),
    SecretPattern(
        "hubspot-token", "pat-na  pat-eu", r"pat-(?:na|eu)[0-9]-[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"
    ),
    SecretPattern("onepassword-token", "ops_eyJ", r"ops_eyJ[0-9A-Za-z+/_-]{100,}={0,3}"),
    SecretPattern(
        "onepassword-key", "A3-", r"A3-[0-9A-Z]{6}-(?:[0-9A-Z]{11}|[0-9A-Z]{6}-[0-9A-Z]{5})(?:-[0-9A-Z]{5}){3}"
    ),
    SecretPattern("facebook-token", "EAAC  EAAB  EAAG", r"(?:^|[^0-9A-Za-z+/=_-])(EAA[BCG][0-9A-Za-z]{80,400})", 1),
    SecretPattern("newrelic-key", "NRAK-  NRII-  NRAA-", r"NR(?:AK|II|AA)-[0-9A-Za-z_-]{27,40}"),
    SecretPattern("contentful-token", "CFPAT-", r"CFPAT-[0-9A-Za-z_-]{43}"),
    SecretPattern("typeform-token", "tfp_", r"tfp_[0-9A-Za-z_.=-]{40,64}"),
    SecretPattern("postman-key", "PMAK-", r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}"),
    SecretPattern("prefect-key", "pnu_", r"pnu_[0-9A-Za-z]{36}"),
    SecretPattern("readme-key", "rdme_", r"rdme_[0-9a-z]{70}"),
    SecretPattern("settlemint-token", "sm_pat_", r"sm_pat_[0-9A-Za-z]{16}"),
    SecretPattern("brevo-key", "xkeysib-  xsmtpsib-", r"x(?:key|smtp)sib-[0-9a-f]{64}-[0-9A-Za-z]{16}"),
    SecretPattern("adobe-secret", "p8e-", r"p8e-[0-9A-Za-z_-]{32}"),
    SecretPattern("defined-key", "dnkey-", r"dnkey-[0-9A-Za-z_=-]{26}-[0-9A-Za-z_=-]{52}"),
    SecretPattern("frameio-token", "fio-u-", r"fio-u-[0-9A-Za-z_=-]{64}"),
    SecretPattern("scalingo-token", "tk-us-", r"tk-us-[0-9A-Za-z_-]{48}"),
    # Keys and signed tokens
    SecretPattern("age-key", "AGE-SECRET-KEY-", r"AGE-SECRET-KEY-1[02-9AC-HJ-NP-Z]{58}"),
    SecretPattern(
        "encoded-key",
        "LS0tLS1CRUdJTi",
        r"LS0tLS1CRUdJTi(?:BSU0E|BFQy|BEU0E|BPUEVO|BQUklW|BFTkNS|BQR1AgUFJJ)[0-9A-Za-z+/\\=\r\n]{40,}",
    ),
    # The second half consumes what only begins like one; otherwise each "eyJ" in a long word would be tried to its end.
    SecretPattern(
        "jwt",
        "eyJ",
        r"(eyJ[0-9A-Za-z_-]{8,}\.[0-9A-Za-z_-]{8,}\.[0-9A-Za-z_-]{8,}(?:\.[0-9A-Za-z_-]{8,}){0,2})|eyJ[0-9A-Za-z_-]*",
        1,
    ),
    SecretPattern("signed-token", "eyJ", r"eyJ[0-9A-Za-z_+/-]{50,}={0,2}(?:\.[0-9A-Za-z_-]{16,})?"),
    SecretPattern(
        "password-hash",
        "$2a$  $2b$  $2y$  $5$  $6$  $apr1$  $argon2",
        r"\$(?:2[aby]\$[0-9]{2}\$[./0-9A-Za-z]{53}|[56]\$[^\s:$\"']{1,40}\$[./0-9A-Za-z]{40,90}|apr1\$[./0-9A-Za-z]{1,8}\$[./0-9A-Za-z]{22}|argon2(?:id|i|d)\$[0-9A-Za-z$,=+/]{40,200})",
    ),
    # Command lines and files
    SecretPattern(
        "command-password",
        "curl",
        r"curl\b[^\n|;]{0,120}?\s(?:-[a-zA-Z]{0,6}u|--user)[= ]?\s{0,2}[\"']?[^\s:\"']{1,100}:([^\s\"']{3,200})",
        1,
    ),
    SecretPattern(
        "command-password", "sshpass", r"sshpass\s{1,3}-p\s{0,2}(\"[^\"\n]{3,200}\"|'[^'\n]{3,200}'|[^\s\"']{3,200})", 1
    ),
    SecretPattern(
        "command-password",
        "mysql  mariadb",
        r"(?:mysql|mariadb)[a-z-]{0,10}\b[^\n|;]{0,120}?\s-p([^\s\"'-][^\s\"']{2,200}|\"[^\"\n]{3,200}\"|'[^'\n]{3,200}')",
        1,
    ),
    SecretPattern(
        "command-password",
        "htpasswd",
        r"htpasswd\s{1,3}(?:-[a-zA-Z]{1,8}\s{1,3}){1,4}(?:[^\s-][^\s]{0,200}\s{1,3}){0,1}[^\s-][^\s]{0,100}\s{1,3}([^\s&|;]{3,200})",
        1,
    ),
    SecretPattern("command-password", "redis-cli", r"redis-cli\b[^\n|;]{0,120}?\s-a\s{0,2}[\"']?([^\s\"']{3,200})", 1),
    SecretPattern(
        "command-password",
        "docker",
        r"docker\s{1,3}login\b[^\n|;]{0,120}?\s-p\s{0,2}[\"']?([^\s\"'-][^\s\"']{2,200})",
        1,
    ),
    SecretPattern("command-password", "openssl", r"pass:([^\s\"':]{3,200})", 1),
    SecretPattern(
        "command-token", "wandb", r"wandb\s{1,3}login\b[^\n|;&]{0,120}?[\s=\"']([0-9A-Za-z_-]{40,120})", 1
    ),
    SecretPattern(
        "command-token", "snyk", r"snyk\s{1,3}auth\s{1,3}[\"']?([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})", 1
    ),
    SecretPattern(
        "command-token", "ngrok", r"ngrok\b[^\n|;&]{0,60}?authtoken\s{1,3}[\"']?([0-9A-Za-z_]{20,100})", 1
    ),
    SecretPattern(
        "private-key",
        "priv:  privateexponent",
        r"(?:priv|privateExponent|prime[12]|exponent[12]|coefficient):\s{1,20}([0-9a-f:\s]{40,8000}[0-9a-f]{2})",
        1,
    ),
    SecretPattern(
        "sql-password",
        "identified",
        r"(?:(?:IDENTIFIED|identified)\s{1,4}(?:BY|by)\s{1,4}'|IDENTIFIED\s{1,4}BY\s{1,4}\")([^\"'\n]{3,200})[\"']",
        1,
    ),
    SecretPattern("pgpass", "5432", r"(?m)^[^\s:#]{1,200}:5432:[^\s:]{1,100}:[^\s:]{1,100}:([^\s]{3,200})$", 1),
    SecretPattern(
        "jwk", "kty", r"[\"'](?:d|p|q|dp|dq|qi|k)[\\\"']{1,3}\s{0,3}:\s{0,3}[\\\"']{1,3}([0-9A-Za-z_-]{16,})", 1
    ),
    SecretPattern(
        "cookie",
        "cookie",
        r"[Cc][Oo][Oo][Kk][Ii][Ee][\\\"']{0,2}\s{0,3}:\s{0,3}[\\\"']{0,2}([^\s=;\"']{1,80}=[^\n\"'\\]{8,4000})",
        1,
        0.25,
    ),
)
"""Every rule. Where two rules find the same secret, the first one names it."""

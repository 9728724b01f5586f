import json

from custody.core.wire.sarif import SarifResult, SarifRule, encode_sarif

RULES = [SarifRule("A-ONE", "one", "One thing.", "do one"), SarifRule("A-TWO", "two", "Two things.", "do two")]


def test_a_log_has_its_rules_and_every_result_at_its_place() -> None:
    made = json.loads(encode_sarif("1.2.3", RULES, [SarifResult("A-TWO", "two is wrong", "docs/a b.md", 7, 3)]))
    assert made == {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "custody",
                        "version": "1.2.3",
                        "rules": [
                            {
                                "id": rule.code,
                                "shortDescription": {"text": rule.name},
                                "fullDescription": {"text": rule.meaning},
                                "help": {"text": rule.remedy},
                            }
                            for rule in RULES
                        ],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "results": [
                    {
                        "ruleId": "A-TWO",
                        "ruleIndex": 1,
                        "level": "error",
                        "message": {"text": "two is wrong"},
                        "locations": [
                            {
                                "physicalLocation": {
                                    "artifactLocation": {"uri": "docs/a%20b.md"},
                                    "region": {"startLine": 7, "startColumn": 3},
                                }
                            }
                        ],
                    }
                ],
            }
        ],
    }


def test_nothing_found_is_an_empty_list() -> None:
    assert json.loads(encode_sarif("1", RULES, []))["runs"][0]["results"] == []

"""Facts of files in Python, Go, Rust and Java."""

import pytest

from custody.dupes.facts.extractor import detect_file_language, extract_file_facts
from custody.dupes.facts.model import Facts
from tests.unit.dupes.facts.fact_rows import declared, exports, imports, names_of_tests, suites

PYTHON = b'''\
"""A module."""
from __future__ import annotations
import os, xml.dom as dom
from . import views
from ..core.db import (Model, fields as f)
from typing import *

LIMIT: int = 10
A, B = 1, 2
_hidden = None

def public(x):
    def inner(): pass
    value = 1
    return inner

@cache
@retry(
    times=3,
)
async def fetch(url): ...

@dataclass(frozen=True)
class Store(Base, metaclass=Meta):
    """Kept."""
    size = 1

    @property
    def name(self): return 1

    class Meta:
        ordering = ()

def _private(): pass
if True:
    def conditional(): pass
'''


def test_a_python_file() -> None:
    facts = extract_file_facts("app/store.py", PYTHON)
    assert (facts.language, facts.degraded, facts.is_test) == ("python", None, False)
    assert declared(facts) == [
        "const LIMIT 8 *",
        "const A 9 *",
        "const B 9 *",
        "const _hidden 10",
        "function public 12-15 *",
        "function public.inner 13 *",
        "function fetch 17-21 *",
        "class Store 23-32 *",
        "method Store.name 28-29 *",
        "class Store.Meta 31-32 *",
        "function _private 34",
        "function conditional 36 *",
    ]
    assert exports(facts) == [
        *("LIMIT 8", "A 9", "B 9", "public 12-15", "fetch 17-21", "Store 23-32", "conditional 36"),
    ]
    assert imports(facts) == ["os", "xml.dom", ".", "..core.db", "typing"]


def test_a_python_file_exports_dunder_all() -> None:
    facts = extract_file_facts(
        "a.py", b"__all__ = ['f', 'gone']\n__all__ += ('g',)\ndef f(): ...\ndef g(): ...\ndef h(): ...\n"
    )
    assert exports(facts) == ["f 3", "gone 1", "g 4"]
    assert declared(facts) == ["function f 3 *", "function g 4 *", "function h 5"]


PYTHON_TESTS = b"""\
import unittest
import pytest
from app.store import Store

class StoreTests(unittest.TestCase):
    def setUp(self): pass
    def test_emptyStore_has_no_items(self):
        self.assertEqual(len(Store()), 0)
        with self.assertRaises(KeyError): Store()["a"]

class Helper:
    def test_like(self): ...

@pytest.mark.parametrize("x", [1, 2])
def test_adds(x):
    assert x == 1
    with pytest.raises(ValueError): ...
"""


def test_tests_in_python() -> None:
    facts = extract_file_facts("app/store.py", PYTHON_TESTS)
    assert facts.is_test
    assert suites(facts) == ["store tests 5-9"]
    assert names_of_tests(facts) == ["test empty store has no items 7-9", "test adds 14-17"]
    assert facts.intent.matchers == (("assert", 1), ("assertEqual", 1), ("assertRaises", 1), ("raises", 1))
    assert [one.module for one in facts.intent.imports] == ["app.store"]


GO = b"""\
package store

import (
	"fmt"
	web "net/http"
	_ "embed"
)

const (
	Limit = iota
	other
)

var ErrGone, errOther = 1, 2

type Store struct{ Size int }
type Reader interface{ Read() }
type Pair[K comparable, V any] struct{}
type Alias = Store

func New() *Store { local := func() {}; var x = 1; return nil }

func (s *Store) Get(key string) error { return nil }
func (p Pair[K, V]) Swap() {}
func (s Store) hidden() {}
func helper() {}
"""


def test_a_go_file() -> None:
    facts = extract_file_facts("store.go", GO)
    assert (facts.language, facts.degraded, facts.is_test) == ("go", None, False)
    assert declared(facts) == [
        "const Limit 10 *",
        "const other 11",
        "var ErrGone 14 *",
        "var errOther 14",
        "type Store 16 *",
        "type Reader 17 *",
        "type Pair 18 *",
        "type Alias 19 *",
        "function New 21 *",
        "method Store.Get 23 *",
        "method Pair.Swap 24 *",
        "method Store.hidden 25",
        "function helper 26",
    ]
    assert exports(facts) == [line.split(" ", 1)[1].removesuffix(" *") for line in declared(facts) if "*" in line]
    assert imports(facts) == ["fmt", "net/http", "embed"]


def test_tests_in_go() -> None:
    facts = extract_file_facts(
        "store_test.go",
        b"""\
package store

import (
	"testing"
	"github.com/stretchr/testify/assert"
	"example.org/store"
)

func TestGet(t *testing.T) {
	t.Run("of a missing key", func(t *testing.T) {
		assert.Equal(t, 1, store.Get())
		t.Fatalf("no")
	})
	t.Run(tc.name, func(t *testing.T) {})
}
func BenchmarkGet(b *testing.B) {}
func testHelper() {}
func Testify() {}
""",
    )
    assert facts.is_test
    assert names_of_tests(facts) == ["test get 9-15", "of a missing key 10-13", "benchmark get 16"]
    assert facts.intent.matchers == (("Equal", 1), ("Fatalf", 1))
    assert [one.module for one in facts.intent.imports] == ["example.org/store"]


RUST = b"""\
use std::{fs, io::{self, Read as R}, path::*};
use super::Model;
pub use crate::errors::{Error, Kind as K};
extern crate serde;

pub const LIMIT: usize = 1;
static COUNT: u8 = 0;

#[derive(Debug)]
// Kept small.
#[serde(default)]
pub struct Store<T> {
    #[serde(skip)]
    items: Vec<T>,
}

pub enum Color { Red }
pub type Id = u64;
pub(crate) fn half_public() {}

impl<T: Clone> Store<T> {
    pub fn new() -> Self { fn nested() {} }
    fn hidden(&self) {}
    pub const SIZE: u8 = 1;
}
impl<T> fmt::Display for Store<T> { fn fmt(&self) {} }
pub trait Shape { fn area(&self) -> f64; }
pub mod geo { pub async fn distance() {} }
mod private { pub fn seen_inside_only() {} }
macro_rules! twice { () => {} }
"""


def test_a_rust_file() -> None:
    facts = extract_file_facts("src/store.rs", RUST)
    assert (facts.language, facts.degraded, facts.is_test) == ("rust", None, False)
    assert declared(facts) == [
        "const LIMIT 6 *",
        "const COUNT 7",
        "struct Store 9-15 *",
        "enum Color 17 *",
        "type Id 18 *",
        "function half_public 19",
        "impl Store 21-25",
        "method Store.new 22 *",
        "function Store.new.nested 22",
        "method Store.hidden 23",
        "const Store.SIZE 24 *",
        "impl Store 26",
        "method Store.fmt 26",
        "trait Shape 27 *",
        "method Shape.area 27 *",
        "module geo 28 *",
        "function geo.distance 28 *",
        "module private 29",
        "function private.seen_inside_only 29",
        "macro twice 30",
    ]
    assert exports(facts)[-2:] == ["Error 3", "K 3"]
    assert imports(facts) == [
        *("std::fs", "std::io", "std::io::Read", "std::path::*", "super::Model"),
        *("crate::errors::Error", "crate::errors::Kind", "serde"),
    ]


def test_tests_in_rust() -> None:
    facts = extract_file_facts(
        "src/store.rs",
        b"""\
pub fn add() {}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[tokio::test]
    async fn adds_twoNumbers() { assert_eq!(add(), 1); }

    #[test]
    #[should_panic]
    fn fails() { assert!(false); }

    fn helper() {}
}
""",
    )
    assert suites(facts) == ["tests 3-16"]
    assert names_of_tests(facts) == ["adds two numbers 8-9", "fails 11-13"]
    assert facts.intent.matchers == (("assert", 1), ("assert_eq", 1))
    assert [one.module for one in facts.intent.imports] == ["super::*"]


JAVA = b"""\
package org.example;

import java.util.List;
import static java.lang.Math.max;
import org.example.util.*;

@Deprecated
public class Store<T> extends Base {
    public static final int LIMIT = 1, OTHER = 2;
    private int size;
    public Store() {}
    public <R> R get(String key) { Runnable r = new Runnable() { public void run() {} }; return null; }
    void hidden() {}
    public interface Listener { void changed(); }
    public enum Color { RED; public int shade() { return 1; } }
    record Pair(int a) {}
    @interface Marker {}
}
class Helper {}
"""


def test_a_java_file() -> None:
    facts = extract_file_facts("src/main/java/Store.java", JAVA)
    assert (facts.language, facts.degraded, facts.is_test) == ("java", None, False)
    assert declared(facts) == [
        "class Store 7-18 *",
        "const Store.LIMIT 9 *",
        "const Store.OTHER 9 *",
        "method Store.Store 11 *",
        "method Store.get 12 *",
        "method Store.get.run 12",
        "method Store.hidden 13",
        "interface Store.Listener 14 *",
        "method Store.Listener.changed 14 *",
        "enum Store.Color 15 *",
        "method Store.Color.shade 15 *",
        "class Store.Pair 16",
        "interface Store.Marker 17",
        "class Helper 19",
    ]
    assert imports(facts) == ["java.util.List", "java.lang.Math.max", "org.example.util.*"]


def test_tests_in_java() -> None:
    facts = extract_file_facts(
        "src/main/java/A.java",
        b"""\
import static org.assertj.core.api.Assertions.assertThat;
import org.junit.jupiter.api.*;
import org.example.Store;

@DisplayName("A store, when new")
class StoreTest {
    @Test
    void hasNoItems() { assertThat(new Store()).isEmpty(); assertEquals(1, 2); }

    @ParameterizedTest @DisplayName("takes (many) items")
    void takes(int n) { verify(mock).add(n); }

    void helper() {}
}
class Fixture {}
""",
    )
    assert facts.is_test
    assert suites(facts) == ["a store when new 5-14"]
    assert names_of_tests(facts) == ["has no items 7-8", "takes many items 10-11"]
    assert facts.intent.matchers == (("assertEquals", 1), ("assertThat", 1), ("verify", 1))
    assert [one.module for one in facts.intent.imports] == ["org.example.Store"]


@pytest.mark.parametrize("path", ["a.rb", "a", "ts", "a.json", "src.py/Makefile"])
def test_an_unsupported_file_is_reported(path: str) -> None:
    assert extract_file_facts(path, b"class A; end") == Facts(degraded="unsupported language")
    assert detect_file_language(path) is None

"""The commands that are known: one table for each ecosystem, a row for each kind and runner.

A command is a program and the first words after it that are not options: ``cargo nextest run``. ``python -m`` and paths
(``node_modules/.bin/jest``, ``./gradlew``) are skipped. The runner names the summaries that it prints
(``core/run_summary.py``); ``any`` for tools that run others. Programs in ``GOALS`` name what they do by their goals.
"""

from collections.abc import Mapping
from types import MappingProxyType

ANY = "any"

PYTHON = """
test pytest: pytest; py.test; pytest-3; hatch test; uv test
test unittest: unittest; nose2; nosetests; manage.py test; django-admin test; setup.py test; trial; stestr run;
    zope-testrunner
test any: behave; robot; ward; nox; tox; runtests.py; run_tests.py
build any: build; setup.py build; setup.py sdist; setup.py bdist_wheel; uv build; poetry build; hatch build; pdm
    build; maturin develop; maturin build; mkdocs build; sphinx-build; compileall; py_compile
lint any: ruff; ruff check; flake8; pylint; bandit; pycodestyle; pydocstyle; vulture; lint-imports; codespell;
    pre-commit run; prek run; pip-audit
types any: mypy; dmypy run; dmypy check; pyright; basedpyright; pytype; pyre; pyre check; ty check
format any: black; ruff format; isort; autopep8; yapf; pyupgrade
"""
JAVASCRIPT = """
test jest: jest; react-scripts test; craco test
test vitest: vitest; vitest run; vitest related
test mocha: mocha; cypress run; nyc mocha; c8 mocha
test playwright: playwright test
test bun: bun test
test deno: deno test
test node: node --test
test any: ava; tap; jasmine; karma start; wtr; uvu; ng test; nx test; tape
build any: webpack; vite build; rollup; esbuild; next build; tsup; ng build; nx build; parcel build; turbo build;
    astro build; nuxt build; swc; babel; deno compile; bun build
lint any: eslint; oxlint; biome check; biome lint; biome ci; stylelint; tslint; standard; xo; jshint; deno lint;
    knip; depcheck; next lint; markdownlint; markdownlint-cli2; npm audit; ng lint; nx lint
types any: tsc; vue-tsc; svelte-check; flow; flow check; deno check; tsgo; attw
format any: prettier; biome format; dprint fmt; dprint check; deno fmt
"""
GO = """
test go: go test; richgo test
test gotestsum: gotestsum
test any: ginkgo; ginkgo run
build any: go build; go install; go generate; goreleaser; goreleaser build; goreleaser release; go list
lint any: go vet; golangci-lint; golangci-lint run; staticcheck; golint; revive; gosec; govulncheck; errcheck
format any: gofmt; goimports; gofumpt; go fmt; golangci-lint fmt; gci; go fix
program any: go run
"""
RUST = """
test cargo: cargo test; cargo t; cross test; cargo tarpaulin; cargo llvm-cov
test nextest: cargo nextest run; cargo nextest r; cargo-nextest nextest run
build any: cargo build; cargo b; cargo check; cargo c; cargo doc; rustc; cross build; cargo install; wasm-pack
    build; trunk build
lint any: cargo clippy; cargo deny; cargo audit; cargo machete; cargo udeps; clippy-driver; typos
format any: cargo fmt; rustfmt; taplo fmt; taplo format
program any: cargo run; cargo r; cargo bench
"""
JVM = """
test any: sbt test; sbt testOnly; ant test; lein test; mill test; scala-cli test
build any: javac; kotlinc; scalac; sbt compile; ant; ant build; lein compile; sbt package; sbt assembly
lint any: ktlint; detekt; checkstyle; spotbugs; scalafix
format any: google-java-format; scalafmt
"""
RUBY = """
test rspec: rspec
test minitest: rails test; minitest; m
test any: cucumber; turbo_tests; parallel_rspec; parallel_test
build any: gem build; rails assets:precompile
lint any: rubocop; standardrb; brakeman; reek; erblint; erb_lint; haml-lint
types any: srb tc; steep check
format any: rufo; rubyfmt
"""
PHP = """
test phpunit: phpunit; paratest; simple-phpunit; artisan test
test pest: pest
test any: codecept run; behat; phpspec run; kahlan
lint any: phpcs; phpmd; parallel-lint; rector; ecs check
types any: phpstan; phpstan analyse; psalm; phan
format any: php-cs-fixer; php-cs-fixer fix; pint; phpcbf
"""
NATIVE = """
test ctest: ctest
test bazel: bazel test; bazelisk test; buck test; buck2 test
test xctest: swift test; xcodebuild test
test dotnet: dotnet test; vstest.console; dotnet vstest
test bats: bats; prove
test any: meson test; ninja test; catchsegv; zig test; zig build test
build any: cmake; ninja; bazel build; bazelisk build; gcc; g++; cc; c++; clang; clang++; meson compile; meson setup;
    swift build; xcodebuild; xcodebuild build; dotnet build; dotnet publish; msbuild; zig build; docker build;
    docker compose build; docker buildx build; autoreconf; configure; gmake
lint any: clang-tidy; cppcheck; cpplint; swiftlint; shellcheck; hadolint; actionlint; yamllint; ansible-lint;
    tflint; sqlfluff lint; semgrep; trivy; vale; buf lint; helm lint; checkov; zizmor
format any: clang-format; shfmt; dotnet format; swiftformat; swift-format; swift format; terraform fmt; tofu fmt;
    zig fmt; buf format; nixfmt; alejandra; treefmt
types any: terraform validate
"""
OTHERS = """
test exunit: mix test
test dart: dart test; flutter test
test any: rebar3 eunit; rebar3 ct; stack test; cabal test; dune test; dune runtest; nimble test; busted; gleam test;
    crystal spec; elm-test; terraform test; tofu test; helm unittest; conftest verify; opa test; forge test; hardhat
    test; anchor test; pg_prove; dbt test
build any: mix compile; stack build; cabal build; dune build; flutter build; dart compile; rebar3 compile; forge
    build; hardhat compile; gleam build; crystal build; hugo; dbt build
lint any: mix credo; dart analyze; flutter analyze; hlint; luacheck; selene; clj-kondo; solhint
types any: mix dialyzer; gleam check
format any: mix format; dart format; stylua; ocamlformat; ormolu; fourmolu; forge fmt; cljfmt
"""
ECOSYSTEMS: Mapping[str, str] = MappingProxyType(
    {
        "Python": PYTHON,
        "JavaScript and TypeScript": JAVASCRIPT,
        "Go": GO,
        "Rust": RUST,
        "Java, Kotlin and Scala": JVM,
        "Ruby": RUBY,
        "PHP": PHP,
        "C, C++, Swift, .NET, shell and infrastructure": NATIVE,
        "Elixir, Dart, Haskell and others": OTHERS,
    }
)

GOALS = frozenset(
    "make gmake just task mise rake invoke inv poe nx turbo lerna moon earthly npm yarn pnpm bun composer mvn mvnw"
    " gradle gradlew mage lefthook doit pdm hatch pixi devbox deno cargo-make cargo-xtask xtask wireit grunt gulp"
    " hereby ./do ant".split()
)
"""Programs that run a named goal, target, task or script of the project."""
GOAL_WORDS = frozenset("run run-script task tasks exec".split())
"""WordList between such a program and its goals."""
BUILDS_BY_DEFAULT = frozenset(("make", "gmake"))
GOAL_KINDS: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(
            "lint linter linters eslint ruff clippy vet stylelint golangci staticcheck audit".split(), "lint"
        ),
        **dict.fromkeys("types type typecheck typechecks typing mypy tsc pyright dialyzer phpstan".split(), "types"),
        **dict.fromkeys("fmt format formatting prettier black gofmt spotlessapply spotlesscheck".split(), "format"),
        **dict.fromkeys("build builds compile bundle dist package assemble install classes jar image".split(), "build"),
        **dict.fromkeys(
            "test tests testing spec specs unit e2e integration unittest unittests pytest jest vitest verify tst t"
            " phpunit rspec canary".split(),
            "test",
        ),
        **dict.fromkeys("start dev serve run preview storybook".split(), "program"),
    }
)
"""The kind that a part of a goal's name shows. If several parts show a kind, the first of the kinds here counts."""
NOT_GOALS = frozenset(
    "data fixture fixtures setup db database env deps clean watch debug prepare seed generate gen docs doc server list"
    " help update publish deploy release".split()
)
"""Parts of a goal's name that make it something else: ``test-data``, ``test:watch``."""
CHECKS_ARE_TESTS = frozenset(("make", "gmake", "gradle", "gradlew"))
"""Programs whose goal ``check`` runs the tests by convention."""

GIT = frozenset("git jj hg git-lfs gitk".split())
PROGRAMS = frozenset(
    "python python3 pypy pypy3 node nodejs ruby php java deno bun perl lua Rscript julia elixir iex dart swift scala"
    " tsx ts-node dotnet groovy flask uvicorn gunicorn streamlit rails npm yarn pnpm".split()
)
"""Programs that run a program of the project."""
SCRIPTS = (".sh", ".bash", ".py", ".js", ".mjs", ".ts", ".rb", ".pl", ".php")

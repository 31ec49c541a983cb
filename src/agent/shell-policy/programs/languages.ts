/** Interpreters, compilers and the tools of projects: code of the project is run, code on the line is asked about. */

import { isKnown, mayBeOption, renderField, type Field } from '../field.ts'
import { checkProjectCode, checkArgumentPaths } from '../call-checks.ts'
import { getFileContent } from '../simple-command.ts'
import { isHarmlessJavaScript, isHarmlessPython } from '../one-liners.ts'
import { resolvePlaces, getZone } from '../path-zones.ts'
import type { Call, Policy } from '../shell-state.ts'

type Interpreter = {
  /** Options without a value, and with one. */
  readonly plain: RegExp
  readonly valued: RegExp
  /** What brings code on the line. */
  readonly code: RegExp
  readonly harmless?: (code: string) => boolean
  /** What in it loads other code, which is looked for in the current directory first. */
  readonly loads?: RegExp
}

const python: Interpreter = {
  plain: /^(-[uBVOsSEIqvb]+|-VV|--version|--help|-h)$/,
  valued: /^-[WX]/,
  code: /^-[bBdEIOqsSuvx]*c/,
  harmless: isHarmlessPython,
  // sys is part of the interpreter.
  loads: /\bimport\b(?!\s+sys\s*(?:[;\n]|$))/,
}
const node: Interpreter = {
  plain:
    /^(--version|-v|--help|-h|--test|--watch|--check|-c|--no-warnings|--enable-source-maps|--experimental-[\w-]+|--trace-[\w-]+|--expose-gc|--max-old-space-size=\d+|--stack-size=\d+|--env-file=[\w./-]+|--test-(?!reporter)[\w-]+(=[^\n]*)?|--test-reporter=\w+|--unhandled-rejections=\w+)$/,
  valued: /(?!)/,
  code: /^(-e|-p|-pe|--eval|--print|-i|--interactive)/,
  harmless: isHarmlessJavaScript,
}
const ruby: Interpreter = { plain: /^(-v|--version|-c|-w|-W\d?)$/, valued: /^-I/, code: /^-[a-zA-Z]*e/ }
const perl: Interpreter = { plain: /^(-v|--version|-c|-w|-W)$/, valued: /^-I/, code: /^-[a-zA-Z0-9]*[eE]/ }
const php: Interpreter = { plain: /^(-v|--version|-l|-m|-i)$/, valued: /^-f$/, code: /^-[rBRE]/ }
const lua: Interpreter = { plain: /^-v$/, valued: /(?!)/, code: /^-[el]/ }

/** Code handed over on the line: harmless only when every word of it is known to be. */
function code(call: Call, text: Field | undefined, { harmless, loads }: Interpreter): void {
  const fine = text !== undefined && call.judge.host.isSandboxed && isKnown(text) && (harmless?.(text) ?? false)
  if (!fine) call.ask(`${call.name} runs code that stands on the line: ${renderField(text ?? '').slice(0, 80)}`)
  else if (loads?.test(text)) loadsModules(call, text, `-c ${renderField(text).slice(0, 80)}`)
}

/** Names of the standard library may be files of the project as well, and those are taken first. */
function loadsModules(call: Call, text: string, what: string): void {
  const names = new Set(text.match(/\w+/g))
  const modules = [...call.shell.files.keys()].map((path) => /([^/]+?)(?:\/__init__)?\.\w+$/.exec(path)?.[1] ?? '')
  const written = modules.find((name) => names.has(name))
  if (written !== undefined) call.ask(`${call.name} may load ${written}, which has just been written`)
  checkProjectCode(call, `${call.name} ${what}`)
}

const interpreter =
  (language: Interpreter): Policy =>
  (call) => {
    const { args } = call
    let at = 0
    for (; at < args.length; at++) {
      const arg = args[at] ?? ''
      if (!arg.startsWith('-') || arg === '-') break
      if (arg === '-m' && language === python) return pythonModule(call, args.slice(at + 1))
      if (language.code.test(arg)) return onTheLine(call, language, at)
      if (language.valued.test(arg)) at += arg.length > 2 ? 0 : 1
      else if (arg !== '--' && !language.plain.test(arg)) call.ask(`${call.name} is given ${renderField(arg)}`)
    }
    return script(call, args.slice(at), language)
  }

/** Code joined to its option (`-cimport os`) is not looked at. */
function onTheLine(call: Call, language: Interpreter, at: number): undefined {
  const joined = language === python && !call.args[at]?.endsWith('c')
  code(call, joined ? undefined : call.args[at + 1], language)
  return undefined
}

function script(call: Call, [file, ...rest]: readonly Field[], language: Interpreter): undefined {
  if (file === undefined && call.args.some((arg) => /^(--version|-V+|-v|--help|-h)$/.test(arg))) return undefined
  if (file === undefined && call.args.includes('--test')) {
    checkProjectCode(call, `${call.name} --test`)
    return undefined
  }
  if (file === undefined || file === '-') {
    if (call.stdin === 'none' || call.stdin === 'unknown') call.ask(`${call.name} runs what it reads`)
    else for (const text of call.stdin) code(call, text, language)
    return undefined
  }
  if (mayBeOption(file)) call.ask(`${call.name} runs something that is only known when it does`)
  scriptFile(call, file, language)
  checkProjectCode(call, `${call.name} ${renderField(file)}`)
  checkArgumentPaths(call, rest)
  return undefined
}

function scriptFile(call: Call, file: Field, language: Interpreter): void {
  const all = resolvePlaces(file, call.shell)
  if (all.some((place) => call.shell.files.has(place))) {
    const content = getFileContent(call.shell, file)
    if (content === 'unknown') call.ask(`${call.name} runs ${renderField(file)}, which has just been written`)
    else for (const text of content) code(call, text, language)
  } else if (all.some((place) => !['inside', 'temporary'].includes(getZone(place, call.judge.host))))
    call.ask(`${call.name} runs ${renderField(file)}, outside the workspace`)
}

const refusedModules =
  /^(http\.server|smtpd|webbrowser|antigravity|code|pdb|idlelib|ensurepip|pty|timeit|trace|cProfile|profile|runpy|shutil|os|subprocess|ftplib|telnetlib|poplib|twine|keyring)$/

function pythonModule(call: Call, [module = '', ...rest]: readonly Field[]): undefined {
  if (module === 'pip' || module === 'pytest' || module === 'coverage') {
    call.judge.judgeCall([module, ...rest], call.shell, call.stdin)
    return undefined
  }
  if (
    module === 'json.tool' ||
    module === 'compileall' ||
    module === 'py_compile' ||
    module === 'ast' ||
    module === 'tokenize'
  ) {
    loadsModules(call, module, `-m ${module}`)
    checkArgumentPaths(call, rest)
  } else if (!isKnown(module) || refusedModules.test(module)) call.ask(`python -m ${renderField(module)}`)
  else {
    checkProjectCode(call, `python -m ${renderField(module)}`)
    checkArgumentPaths(call, rest)
  }
  return undefined
}

/** Options with which a tool of the project starts or evaluates what it is given. */
const carryingOptions =
  /^(--eval|--exec|--exec-cmd|--command|--cmd|-c=|--shell|--script-shell|--plugin|--pre|--pager|--editor|--init-script|-toolexec|-exec|--toolexec|--config-env|--wrapper|--launcher|-wrapper|-fplugin|-Xclang|-load|--runner|-I-)(=|$)/

/** A tool of the project: its own code may run, and it stays in the workspace. */
const tool =
  (refused: RegExp = /^-e(=|$)/): Policy =>
  (call) => {
    const bad = call.args.find((arg) => carryingOptions.test(arg) || refused.test(arg))
    if (bad !== undefined) call.ask(`${call.name} is given ${renderField(bad)}`)
    if (call.args.some((arg) => arg === '-' || /^\/dev\/(stdin|fd\/)/.test(arg)))
      call.ask(`${call.name} takes what it reads for code`)
    if (!(call.args.length === 1 && /^(--version|-v|-V|version|--help)$/.test(call.args[0] ?? '')))
      checkProjectCode(call, call.name)
    if (call.args.some((arg) => arg.includes('$(') || arg.includes('`'))) call.ask(`${call.name} is given code`)
    checkArgumentPaths(call)
    return undefined
  }

/** make reads its rules from a file; from its input or the line they are code. */
const make: Policy = (call) => {
  call.args.forEach((arg, i) => {
    const file = /^(?:-f|--file=|--makefile=)(.*)$/.exec(arg)
    const path = file ? file[1] || (call.args[i + 1] ?? '') : undefined
    if (
      path !== undefined &&
      (path === '-' ||
        path.startsWith('/dev/') ||
        resolvePlaces(path, call.shell).some((place) => call.shell.files.has(place)))
    )
      call.ask(`make runs rules from ${renderField(path)}`)
    if (/^(SHELL|MAKEFLAGS|\.SHELLFLAGS|[A-Z]*(CC|CXX|LD|RM|SH))\s*[:+?]?=/.test(arg) || /^(-E|--eval)/.test(arg))
      call.ask(`make is given ${renderField(arg)}`)
  })
  if (resolvePlaces('Makefile', call.shell).some((place) => call.shell.files.has(place)))
    call.ask('make runs rules that have just been written')
  return tool()(call)
}

const projectTools =
  'pytest py.test vitest jest mocha ava tap playwright cypress tsc tsx ts-node eslint oxlint oxfmt prettier biome standard stylelint ruff black isort flake8 pylint mypy pyright bandit tox nox pre-commit alembic mkdocs sphinx-build jekyll hugo gcc cc g++ c++ clang clang++ rustc rustfmt clang-format clang-tidy ar ld as strip javac java kotlinc scalac ghc ocaml ocamlc swiftc cmake ninja meson bazel buck mvn gradle gradlew sbt ant rake rspec rubocop phpunit phpstan composer artisan mix elixir iex dotnet msbuild swift xcodebuild flutter dart gofmt goimports golangci-lint staticcheck turbo nx lerna next nuxt vite webpack rollup esbuild parcel tsup swc babel svelte-kit astro ng vue-cli-service react-scripts storybook wrangler drizzle-kit prisma knex typeorm sequelize changeset commitlint lint-staged husky typedoc api-extractor depcheck madge c8 nyc size-limit nodemon concurrently cross-env protoc buf flatc thrift sass less-css postcss tailwindcss uvicorn gunicorn flask django-admin celery scrapy jupyter nbconvert pdoc pydocstyle pipdeptree virtualenv r2 Rscript julia zig nim crystal v gleam tectonic pdflatex xelatex latexmk pandoc asciidoctor graphviz dot plantuml mermaid mmdc ffprobe ffmpeg convert magick identify ctest autoconf automake autoreconf libtool m4 gcov lcov gprof luacheck stylua selene taplo dprint deadnix statix nixfmt actionlint yamlfmt markdownlint vale codespell typos cspell'.split(
    ' ',
  )

/** Programs that come with another on their line. */
const launched: Policy = (call) => {
  const words = call.args.filter((arg) => !/^\w+=/.test(arg))
  if (call.name === 'cross-env') call.judge.judgeCall(words, call.shell, call.stdin)
  return tool()(call)
}

export const languages: Readonly<Record<string, Policy>> = {
  ...Object.fromEntries(projectTools.map((name) => [name, tool()])),
  python: interpreter(python),
  python2: interpreter(python),
  pypy: interpreter(python),
  node: interpreter(node),
  nodejs: interpreter(node),
  ruby: interpreter(ruby),
  perl: interpreter(perl),
  php: interpreter(php),
  lua: interpreter(lua),
  luajit: interpreter(lua),
  make,
  gmake: make,
  'cross-env': launched,
  nodemon: tool(/^-x/),
  concurrently: tool(/./),
  pandoc: tool(/^(-F|-L|--fi|--lu|--pdf-e)/),
  pdflatex: tool(/^--?(shell|enable)/),
  xelatex: tool(/^--?(shell|enable)/),
  crystal: tool(/^eval$/),
  java: tool(/^-(agent|javaagent|XX:OnError|XX:OnOutOfMemory)/),
  sass: tool(),
  prettier: tool(/^--plugin/),
  rustc: tool(/^-Clinker|^-C$|linker=/),
  gcc: tool(/^-(fplugin|wrapper|specs|B)/),
  'g++': tool(/^-(fplugin|wrapper|specs|B)/),
  jupyter: tool(/^(?!nbconvert|--version)/),
  m4: tool(/./),
  Rscript: tool(/^-e|^--e/),
  iex: tool(/./),
  ocaml: tool(/^-e/),
  ghc: tool(/^-e|^-pgm/),
  cmake: tool(/^-E$/),
  pytest: tool(/^-p$|^--pdbcls|^-c$/),
  wrangler: tool(/^(deploy|publish|delete|secret|r2|d1|kv|login|rollback|tail)$/),
  prisma: tool(/^(reset|--force-reset|--accept-data-loss|execute|push)$/),
  'drizzle-kit': tool(/^(push|drop)$/),
  alembic: tool(/^downgrade$/),
  swift: tool(/^-e$|^repl$/),
  nox: tool(/^--posargs/),
  tox: tool(/^-x|^--override/),
  dotnet: tool(/^(nuget|tool|publish)$/),
  changeset: tool(/^publish$/),
  lerna: tool(/^(publish|exec)$/),
  composer: tool(/^(global|config|exec|self-update)$/),
  mvn: tool(/^(deploy|.*exec:exec.*)$/),
}

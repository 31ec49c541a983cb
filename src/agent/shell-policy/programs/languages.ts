/** Judges interpreters, compilers and project tools. Inline code needs approval unless it is known to be harmless. */

import { isKnown, mayBeOption, renderField, type Field } from '../field.ts'
import { checkProjectCode, checkArgumentPaths } from '../call-checks.ts'
import { getFileContent } from '../simple-command.ts'
import { isHarmlessJavaScript, isHarmlessPython } from '../one-liners.ts'
import { resolvePaths, getZone } from '../path-zones.ts'
import type { Call, Policy } from '../shell-state.ts'

type Interpreter = {
  readonly plainOption: RegExp
  readonly valuedOption: RegExp
  /** Introduces inline code. */
  readonly codeOption: RegExp
  readonly isHarmless?: (code: string) => boolean
  /** Statements that load modules, which the current directory can shadow. */
  readonly importPattern?: RegExp
}

const python: Interpreter = {
  plainOption: /^(-[uBVOsSEIqvb]+|-VV|--version|--help|-h)$/,
  valuedOption: /^-[WX]/,
  codeOption: /^-[bBdEIOqsSuvx]*c/,
  isHarmless: isHarmlessPython,
  // No file can shadow sys.
  importPattern: /\bimport\b(?!\s+sys\s*(?:[;\n]|$))/,
}
const node: Interpreter = {
  plainOption:
    /^(--version|-v|--help|-h|--test|--watch|--check|-c|--no-warnings|--enable-source-maps|--experimental-[\w-]+|--trace-[\w-]+|--expose-gc|--max-old-space-size=\d+|--stack-size=\d+|--env-file=[\w./-]+|--test-(?!reporter)[\w-]+(=[^\n]*)?|--test-reporter=\w+|--unhandled-rejections=\w+)$/,
  valuedOption: /(?!)/,
  codeOption: /^(-e|-p|-pe|--eval|--print|-i|--interactive)/,
  isHarmless: isHarmlessJavaScript,
}
const ruby: Interpreter = {
  plainOption: /^(-v|--version|-c|-w|-W\d?)$/,
  valuedOption: /^-I/,
  codeOption: /^-[a-zA-Z]*e/,
}
const perl: Interpreter = {
  plainOption: /^(-v|--version|-c|-w|-W)$/,
  valuedOption: /^-I/,
  codeOption: /^-[a-zA-Z0-9]*[eE]/,
}
const php: Interpreter = { plainOption: /^(-v|--version|-l|-m|-i)$/, valuedOption: /^-f$/, codeOption: /^-[rBRE]/ }
const lua: Interpreter = { plainOption: /^-v$/, valuedOption: /(?!)/, codeOption: /^-[el]/ }

/** Judges code on the command line: harmless only when all of its words are on the list. */
function judgeInlineCode(call: Call, text: Field | undefined, { isHarmless, importPattern }: Interpreter): void {
  const isHarmlessCode =
    text !== undefined && call.judge.host.isSandboxed && isKnown(text) && (isHarmless?.(text) ?? false)
  if (!isHarmlessCode) call.ask(`${call.name} runs code from the command line: ${renderField(text ?? '').slice(0, 80)}`)
  else if (importPattern?.test(text)) judgeImports(call, text, `-c ${renderField(text).slice(0, 80)}`)
}

/** A file of the project shadows a module of the standard library with the same name. */
function judgeImports(call: Call, text: string, subject: string): void {
  const names = new Set(text.match(/\w+/g))
  const modules = [...call.shell.files.keys()].map((path) => /([^/]+?)(?:\/__init__)?\.\w+$/.exec(path)?.[1] ?? '')
  const written = modules.find((name) => names.has(name))
  if (written !== undefined) call.ask(`${call.name} may load ${written}, which has just been written`)
  checkProjectCode(call, `${call.name} ${subject}`)
}

const createInterpreter =
  (language: Interpreter): Policy =>
  (call) => {
    const { args } = call
    let at = 0
    for (; at < args.length; at++) {
      const arg = args[at] ?? ''
      if (!arg.startsWith('-') || arg === '-') break
      if (arg === '-m' && language === python) return judgePythonModule(call, args.slice(at + 1))
      if (language.codeOption.test(arg)) return judgeCodeOption(call, language, at)
      if (language.valuedOption.test(arg)) at += arg.length > 2 ? 0 : 1
      else if (arg !== '--' && !language.plainOption.test(arg)) call.ask(`${call.name} is given ${renderField(arg)}`)
    }
    return judgeScript(call, args.slice(at), language)
  }

/** Code joined to its option (`-cimport os`) always needs approval. */
function judgeCodeOption(call: Call, language: Interpreter, at: number): undefined {
  const joined = language === python && !call.args[at]?.endsWith('c')
  judgeInlineCode(call, joined ? undefined : call.args[at + 1], language)
  return undefined
}

function judgeScript(call: Call, [file, ...rest]: readonly Field[], language: Interpreter): undefined {
  if (file === undefined && call.args.some((arg) => /^(--version|-V+|-v|--help|-h)$/.test(arg))) return undefined
  if (file === undefined && call.args.includes('--test')) {
    checkProjectCode(call, `${call.name} --test`)
    return undefined
  }
  if (file === undefined || file === '-') {
    if (call.stdin === 'none' || call.stdin === 'unknown') call.ask(`${call.name} runs its input`)
    else for (const text of call.stdin) judgeInlineCode(call, text, language)
    return undefined
  }
  if (mayBeOption(file)) call.ask(`${call.name} runs something that is only known at run time`)
  judgeScriptFile(call, file, language)
  checkProjectCode(call, `${call.name} ${renderField(file)}`)
  checkArgumentPaths(call, rest)
  return undefined
}

function judgeScriptFile(call: Call, file: Field, language: Interpreter): void {
  const all = resolvePaths(file, call.shell)
  if (all.some((resolved) => call.shell.files.has(resolved))) {
    const content = getFileContent(call.shell, file)
    if (content === 'unknown') call.ask(`${call.name} runs ${renderField(file)}, which has just been written`)
    else for (const text of content) judgeInlineCode(call, text, language)
  } else if (all.some((resolved) => !['inside', 'temporary'].includes(getZone(resolved, call.judge.host))))
    call.ask(`${call.name} runs ${renderField(file)}, outside the workspace`)
}

const refusedModules =
  /^(http\.server|smtpd|webbrowser|antigravity|code|pdb|idlelib|ensurepip|pty|timeit|trace|cProfile|profile|runpy|shutil|os|subprocess|ftplib|telnetlib|poplib|twine|keyring)$/

function judgePythonModule(call: Call, [module = '', ...rest]: readonly Field[]): undefined {
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
    judgeImports(call, module, `-m ${module}`)
    checkArgumentPaths(call, rest)
  } else if (!isKnown(module) || refusedModules.test(module)) call.ask(`python -m ${renderField(module)}`)
  else {
    checkProjectCode(call, `python -m ${renderField(module)}`)
    checkArgumentPaths(call, rest)
  }
  return undefined
}

/** Options with which a project tool runs its argument as code or as a program. */
const carryingOptions =
  /^(--eval|--exec|--exec-cmd|--command|--cmd|-c=|--shell|--script-shell|--plugin|--pre|--pager|--editor|--init-script|-toolexec|-exec|--toolexec|--config-env|--wrapper|--launcher|-wrapper|-fplugin|-Xclang|-load|--runner|-I-)(=|$)/

/** Judges a project tool: it runs code of the project, and its arguments must stay in the workspace. */
const projectTool =
  (refused: RegExp = /^-e(=|$)/): Policy =>
  (call) => {
    const bad = call.args.find((arg) => carryingOptions.test(arg) || refused.test(arg))
    if (bad !== undefined) call.ask(`${call.name} is given ${renderField(bad)}`)
    if (call.args.some((arg) => arg === '-' || /^\/dev\/(stdin|fd\/)/.test(arg)))
      call.ask(`${call.name} reads its input as code`)
    if (!(call.args.length === 1 && /^(--version|-v|-V|version|--help)$/.test(call.args[0] ?? '')))
      checkProjectCode(call, call.name)
    if (call.args.some((arg) => arg.includes('$(') || arg.includes('`'))) call.ask(`${call.name} is given code`)
    checkArgumentPaths(call)
    return undefined
  }

/** Judges make. Rules from stdin or from the command line are inline code. */
const make: Policy = (call) => {
  call.args.forEach((arg, i) => {
    const file = /^(?:-f|--file=|--makefile=)(.*)$/.exec(arg)
    const path = file ? file[1] || (call.args[i + 1] ?? '') : undefined
    if (
      path !== undefined &&
      (path === '-' ||
        path.startsWith('/dev/') ||
        resolvePaths(path, call.shell).some((resolved) => call.shell.files.has(resolved)))
    )
      call.ask(`make runs rules from ${renderField(path)}`)
    if (/^(SHELL|MAKEFLAGS|\.SHELLFLAGS|[A-Z]*(CC|CXX|LD|RM|SH))\s*[:+?]?=/.test(arg) || /^(-E|--eval)/.test(arg))
      call.ask(`make is given ${renderField(arg)}`)
  })
  if (resolvePaths('Makefile', call.shell).some((resolved) => call.shell.files.has(resolved)))
    call.ask('make runs rules that have just been written')
  return projectTool()(call)
}

const projectTools =
  'pytest py.test vitest jest mocha ava tap playwright cypress tsc tsx ts-node eslint oxlint oxfmt prettier biome standard stylelint ruff black isort flake8 pylint mypy pyright bandit tox nox pre-commit alembic mkdocs sphinx-build jekyll hugo gcc cc g++ c++ clang clang++ rustc rustfmt clang-format clang-tidy ar ld as strip javac java kotlinc scalac ghc ocaml ocamlc swiftc cmake ninja meson bazel buck mvn gradle gradlew sbt ant rake rspec rubocop phpunit phpstan composer artisan mix elixir iex dotnet msbuild swift xcodebuild flutter dart gofmt goimports golangci-lint staticcheck turbo nx lerna next nuxt vite webpack rollup esbuild parcel tsup swc babel svelte-kit astro ng vue-cli-service react-scripts storybook wrangler drizzle-kit prisma knex typeorm sequelize changeset commitlint lint-staged husky typedoc api-extractor depcheck madge c8 nyc size-limit nodemon concurrently cross-env protoc buf flatc thrift sass less-css postcss tailwindcss uvicorn gunicorn flask django-admin celery scrapy jupyter nbconvert pdoc pydocstyle pipdeptree virtualenv r2 Rscript julia zig nim crystal v gleam tectonic pdflatex xelatex latexmk pandoc asciidoctor graphviz dot plantuml mermaid mmdc ffprobe ffmpeg convert magick identify ctest autoconf automake autoreconf libtool m4 gcov lcov gprof luacheck stylua selene taplo dprint deadnix statix nixfmt actionlint yamlfmt markdownlint vale codespell typos cspell'.split(
    ' ',
  )

/** Judges a program that starts another one from its arguments. */
const launcher: Policy = (call) => {
  const words = call.args.filter((arg) => !/^\w+=/.test(arg))
  if (call.name === 'cross-env') call.judge.judgeCall(words, call.shell, call.stdin)
  return projectTool()(call)
}

export const languages: Readonly<Record<string, Policy>> = {
  ...Object.fromEntries(projectTools.map((name) => [name, projectTool()])),
  python: createInterpreter(python),
  python2: createInterpreter(python),
  pypy: createInterpreter(python),
  node: createInterpreter(node),
  nodejs: createInterpreter(node),
  ruby: createInterpreter(ruby),
  perl: createInterpreter(perl),
  php: createInterpreter(php),
  lua: createInterpreter(lua),
  luajit: createInterpreter(lua),
  make,
  gmake: make,
  'cross-env': launcher,
  nodemon: projectTool(/^-x/),
  concurrently: projectTool(/./),
  pandoc: projectTool(/^(-F|-L|--fi|--lu|--pdf-e)/),
  pdflatex: projectTool(/^--?(shell|enable)/),
  xelatex: projectTool(/^--?(shell|enable)/),
  crystal: projectTool(/^eval$/),
  java: projectTool(/^-(agent|javaagent|XX:OnError|XX:OnOutOfMemory)/),
  sass: projectTool(),
  prettier: projectTool(/^--plugin/),
  rustc: projectTool(/^-Clinker|^-C$|linker=/),
  gcc: projectTool(/^-(fplugin|wrapper|specs|B)/),
  'g++': projectTool(/^-(fplugin|wrapper|specs|B)/),
  jupyter: projectTool(/^(?!nbconvert|--version)/),
  m4: projectTool(/./),
  Rscript: projectTool(/^-e|^--e/),
  iex: projectTool(/./),
  ocaml: projectTool(/^-e/),
  ghc: projectTool(/^-e|^-pgm/),
  cmake: projectTool(/^-E$/),
  pytest: projectTool(/^-p$|^--pdbcls|^-c$/),
  wrangler: projectTool(/^(deploy|publish|delete|secret|r2|d1|kv|login|rollback|tail)$/),
  prisma: projectTool(/^(reset|--force-reset|--accept-data-loss|execute|push)$/),
  'drizzle-kit': projectTool(/^(push|drop)$/),
  alembic: projectTool(/^downgrade$/),
  swift: projectTool(/^-e$|^repl$/),
  nox: projectTool(/^--posargs/),
  tox: projectTool(/^-x|^--override/),
  dotnet: projectTool(/^(nuget|tool|publish)$/),
  changeset: projectTool(/^publish$/),
  lerna: projectTool(/^(publish|exec)$/),
  composer: projectTool(/^(global|config|exec|self-update)$/),
  mvn: projectTool(/^(deploy|.*exec:exec.*)$/),
}

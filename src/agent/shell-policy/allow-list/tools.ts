/**
 * Lists programs that run code of the project. They run without approval only on a disposable host without a network,
 * where any code may run. Options that carry code of their own, and tasks that destroy or publish, need approval.
 */

export const projectTools = new Set(
  'pytest py.test vitest jest mocha ava tap playwright cypress tsc tsx ts-node markdownlint eslint oxlint oxfmt prettier biome standard stylelint ruff black isort flake8 pylint mypy pyright bandit tox nox pre-commit alembic mkdocs sphinx-build jekyll hugo gcc cc g++ c++ clang clang++ rustc rustfmt clang-format clang-tidy ar ld as strip javac java kotlinc kotlin scalac ghc ocamlc swiftc cmake ninja meson bazel mvn mvnw gradle gradlew sbt ant rake rspec rubocop phpunit phpstan composer artisan mix elixir dotnet msbuild swift xcodebuild flutter dart gofmt goimports golangci-lint staticcheck turbo nx lerna next nuxt vite webpack rollup esbuild parcel tsup swc babel svelte-kit astro ng vue-cli-service react-scripts storybook wrangler drizzle-kit prisma knex typeorm sequelize changeset commitlint lint-staged typedoc api-extractor depcheck madge c8 nyc size-limit protoc buf flatc thrift sass postcss tailwindcss uvicorn gunicorn flask django-admin celery scrapy jupyter nbconvert pdoc pydocstyle pipdeptree virtualenv Rscript julia zig nim crystal gleam tectonic pdflatex xelatex latexmk pandoc dot plantuml mmdc ffprobe ffmpeg convert magick identify ctest autoconf automake autoreconf gcov lcov gprof luacheck stylua selene taplo dprint deadnix statix nixfmt yamlfmt vale codespell typos cspell make gmake coverage htmlhint hatch pdm rye just task corepack npm-check-updates serve http-server degit create-vite create-react-app rustup xargs-none'.split(
    ' ',
  ),
)

/** Options with which a tool runs its argument as code or as a program. */
export const codeOptions =
  /^(--eval|--exec|--exec-cmd|--command|--cmd|-c=|--shell|--script-shell|--plugin|--pre|--pager|--editor|--init-script|-toolexec|-exec|--toolexec|--config-env|--wrapper|--launcher|-wrapper|-fplugin|-Xclang|-load|--runner|-I-|--node-options|--lua-filter|--pdf-e\w+|--shell-escape|-shell-escape|--enable-write18|-Clinker|-specs|--target-dir|-vettool|-overlay|--posargs|--override|--pdbcls|--force-reset|--accept-data-loss|--global-option|--use-feature|--config-settings)(=|$)/

/** Options of single tools that carry code, lead out of the project, or destroy. */
export const toolOptions: Readonly<Record<string, RegExp>> = {
  java: /^-(agent|javaagent|XX:On)/,
  make: /^(-E|--eval|(SHELL|MAKEFLAGS|\.SHELLFLAGS|[A-Z]*(CC|CXX|LD|RM|SH))\s*[:+?]?=)/,
  gcc: /^-(fplugin|wrapper|specs|B)/,
  'g++': /^-(fplugin|wrapper|specs|B)/,
  crystal: /^eval$/,
  pandoc: /^(-F|-L|--filter)/,
  jupyter: /^(?!nbconvert|--version)/,
  Rscript: /^-e|^--e/,
  ghc: /^-e|^-pgm/,
  ocamlc: /^-e/,
  cmake: /^-[EP]$/,
  pytest: /^-[pc]$/,
  rustc: /^-C$|linker=/,
  wrangler: /^(deploy|publish|delete|secret|r2|d1|kv|login|rollback|tail)$/,
  prisma: /^(reset|execute|push)$/,
  'drizzle-kit': /^(push|drop)$/,
  alembic: /^downgrade$/,
  swift: /^-e$|^repl$/,
  tox: /^-x/,
  dotnet: /^(nuget|tool|publish)$/,
  changeset: /^publish$/,
  lerna: /^(publish|exec)$/,
  composer: /^(global|config|exec|self-update)$/,
  mvn: /^(deploy|.*exec:exec.*)$/,
  gradle: /^(publish|deploy)/,
  gradlew: /^(publish|deploy)/,
  rustup: /^(uninstall|remove|link|run|self)$/,
  'ts-node': /^-e|^--e|^-p/,
  tsx: /^-e|^--e|^-p/,
  dot: /^-[cn]/,
  rails: /^(console|c|runner|r|dbconsole|destroy)$/,
  elixir: /^-e|^--e|^--rpc/,
  julia: /^-[eE]/,
  scala: /^-e/,
}

/** Names of tasks that destroy data or publish something. */
export const destructiveTask =
  /[:.](drop|reset|wipe|destroy|purge|flush|truncate|rollback|downgrade|fresh|undo|teardown|nuke|publish|deploy)(:all)?$/i
export const destructiveWord =
  /^(flush|drop\w*|reset_db|downgrade|destroy|purge|wipe|nuke|teardown|(un)?publish|deploy)$/i
export const testWord = /^(test|t|bench|check|-k|-t|-run|vitest|jest|mocha|ava|tap|pytest|rspec|phpunit)$/

/** Files of the project from which tools take code. A line that writes one and then runs a tool needs approval. */
export const toolFiles =
  /(^|\/)((GNU)?[Mm]akefile|package\.json|conftest\.py|setup\.(py|cfg)|pyproject\.toml|tox\.ini|pytest\.ini|build\.(rs|gradle(\.kts)?|xml|zig)|CMakeLists\.txt|Rakefile|Gemfile|noxfile\.py|Cargo\.toml|justfile|Taskfile\.ya?ml|deno\.jsonc?|\.mocharc\.\w+|(vite|vitest|jest|webpack|rollup|babel|eslint|prettier|postcss|tailwind|next|nuxt|astro|svelte|playwright|cypress)\.config\.\w+)$/

export type Manager = {
  readonly reading: RegExp
  /** Commands that run code of the project or change its dependencies. */
  readonly running: RegExp
  /** Commands that start the rest of the line as a program. */
  readonly starting?: RegExp
  /** Options that lead out of the project. */
  readonly refused: RegExp
  /** Options before the command that take a value. */
  readonly valued?: RegExp
}

const node: Manager = {
  reading:
    /^(ls|list|ll|la|view|v|info|show|outdated|why|explain|root|prefix|bin|help|search|fund|ping|doctor|query|--version|licenses|find-dupes|get|-v)$/,
  running:
    /^(run|run-script|rum|test|t|tst|it|start|stop|restart|build|dev|lint|format|check|typecheck|coverage|ci|clean-install|install|i|in|add|install-test|update|up|upgrade|dedupe|prune|rebuild|audit|init|create|create-lockfile|remove|rm|uninstall|un|pack|import|workspaces|workspace|patch|generate|(test|build|lint):[\w:-]+|e2e|version|pkg)$/,
  starting: /^(exec|x|dlx)$/,
  refused:
    /^(-g|--global|--location(=.*)?|--script-shell.*|--prefix(=.*)?|--registry.*|--userconfig.*|--globalconfig.*|--node-options.*|--shell.*|--otp.*|--unsafe-perm|--git.*|-e|--eval.*|-p|--print|--node-gyp.*)$/,
  valued: /^(-w|--workspace|--filter|-F|-C|--dir|--cwd)$/,
}
const pip: Manager = {
  reading: /^(list|show|freeze|check|help|inspect|--version|-V|index|debug)$/,
  running: /^(install|download|wheel)$/,
  refused:
    /^(-i|--index-url.*|--extra-index-url.*|--target.*|-t|--prefix.*|--root.*|--break-system-packages|--global-option.*|--config-settings.*|-C|--proxy.*|--trusted-host.*|--find-links.*|-f|--user|git\+.*|https?:.*)$/,
}
const python: Manager = {
  reading: /^(show|check|version|--version|env|about|list|tree|help)$/,
  running: /^(install|add|remove|lock|update|build|init|new|sync|venv|export|python)$/,
  starting: /^run$/,
  refused:
    /^(--source.*|--repository.*|--index.*|--default-index.*|--extra-index-url.*|--system|--break-system-packages|--target.*|--prefix.*|--config-file.*|publish|uninstall)$/,
}
const system: Manager = {
  reading:
    /^(list|search|show|policy|info|madison|depends|rdepends|showpkg|--version|leaves|outdated|deps|desc|home|cat|query|repolist|config|doctor)$/,
  running: /^(install|update|upgrade|add|reinstall|fetch|check-update|makecache|-S|-Sy)$/,
  refused:
    /^(-o.*|--option.*|-c.*|--config.*|--allow-.*|--force.*|-t.*|\.?\/.*|--root.*|-X.*|--repository.*|--reinstall|purge|remove|autoremove|--cask|https?:.*|--nogpgcheck|--autoremove)$/,
}
const ruby: Manager = {
  reading: /^(list|show|info|outdated|check|--version|help|env|platform|search)$/,
  running: /^(install|update|add|lock|clean|config|init)$/,
  starting: /^exec$/,
  refused: /^(--source.*|-g|--system|--path=\/.*|--install-dir.*)$/,
}

export const managers: Readonly<Record<string, Manager>> = {
  npm: node,
  pnpm: node,
  yarn: { ...node, running: new RegExp(`${node.running.source}|^$`) },
  bun: { ...node, running: new RegExp(`${node.running.source}|\\.(ts|js|tsx|jsx|mjs)$`) },
  pip,
  uv: python,
  poetry: python,
  pipenv: python,
  pipx: { reading: /^(list|--version)$/, running: /^install$/, starting: /^run$/, refused: /(?!)/ },
  bundle: ruby,
  gem: ruby,
  apt: system,
  'apt-get': system,
  'apt-cache': system,
  apk: system,
  dnf: system,
  yum: system,
  brew: system,
  pacman: system,
  cargo: {
    reading:
      /^(tree|metadata|search|info|help|version|--version|-V|locate-project|pkgid|--list|read-manifest|verify-project)$/,
    running:
      /^(build|b|check|c|test|t|run|r|bench|clippy|fmt|doc|d|add|remove|rm|update|new|init|clean|fix|fetch|generate-lockfile|vendor|nextest|expand|audit|outdated|deny|machete|insta|llvm-cov|miri|watch|package)$/,
    refused: /^(--config.*|--target-dir=\/.*|-Z.*|--exec.*|-x|-s)$/,
  },
  go: {
    reading: /^(version|env|list|doc|help)$/,
    running: /^(build|test|vet|fmt|mod|run|get|generate|tool|clean|work|fix)$/,
    refused:
      /^(-w|-u=.*|-exec.*|--exec.*|-toolexec.*|--toolexec.*|-vettool.*|-overlay.*|-modcacherw|-ldflags=.*-extld.*|-gccgoflags.*|-modcache|-unsetenv)$/,
  },
  deno: {
    reading: /^(--version|info|help|doc)$/,
    running: /^(test|fmt|lint|run|task|check|bench|compile|add|remove|cache|coverage)$/,
    refused: /^(-|https?:.*|(npm|jsr):.*|--eval.*)$/,
  },
}

/** Programs that start the first word that is no option, from the packages of the project. */
export const packageRunners = new Set(['npx', 'bunx', 'pnpx', 'uvx'])

export const startOptions = {
  valued: /^(-p|--package|--with|--python|--group|--extra|--filter|-C|--directory|-w|--workspace)$/,
  plain:
    /^(-y|--yes|--no|--no-install|-q|--quiet|--silent|-s|--frozen|--no-sync|--package=.*|--with=.*|--bun|-r|--recursive|--isolated|--all-extras|--prefer-offline|-T|--if-present)$/,
  code: /^(-c|--call(=.*)?)$/,
}

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
  /^(--eval|--exec|--execute|--exec-cmd|--command|--cmd|-c=|--shell|--script-shell|--plugin|--pre|--pager|--editor|--init-script|-toolexec|-exec|--toolexec|--config-env|--wrapper|--launcher|-wrapper|-fplugin|-Xclang|-load|--runner|-I-|--node-options|--lua-filter|--pdf-e\w+|--shell-escape|-shell-escape|--enable-write18|-Clinker|-specs|--target-dir|-vettool|-overlay|--posargs|--override|--pdbcls|--force-reset|--accept-data-loss|--global-option|--use-feature|--config-settings)(=|$)/

/** Prefixes of names with which ImageMagick runs scripts or fetches. */
const imageCode = /^-write$|^@|^(msl|mvg|ephemeral|inline|https?|ftp|url|text|pango):|^(label|caption):@/

/** Commands of a framework that run their input, or an option, as code. */
export const projectShell = /^(shell(_plus)?|dbshell|tinker|runner)$/

/** Programs and libraries that a compiler, or its linker, loads. */
const compilerCode = /^-(fplugin|wrapper|specs|B|load|Wl,.*(plugin|audit))/

/** Options of single tools that carry code, lead out of the project, or destroy. */
export const toolOptions: Readonly<Record<string, RegExp>> = {
  java: /^-(agent|javaagent|XX:On)/,
  javac: /^-J-(agent|javaagent|XX:On)/,
  make: /^(-E|--eval|(SHELL|MAKEFLAGS|\.SHELLFLAGS|[A-Z]*(CC|CXX|LD|RM|SH))\s*[:+?]?=)/,
  gcc: compilerCode,
  'g++': compilerCode,
  cc: compilerCode,
  'c++': compilerCode,
  clang: compilerCode,
  'clang++': compilerCode,
  ld: /^--?(plugin|audit|P$)/,
  crystal: /^eval$/,
  pandoc: /^(-F|-L|--filter)/,
  pylint: /^--(init-hook|load-plugins)/,
  mypy: /^--(python-executable|install-types)/,
  jupyter: /^(?!nbconvert|--version)/,
  Rscript: /^-e|^--e/,
  ghc: /^-e|^-pgm/,
  ocamlc: /^-e/,
  cmake: /^-[EP]$/,
  pytest: /^-[pc]$/,
  rustc: /^-C$|linker=|^--emit=.*=/,
  wrangler: /^(deploy|publish|delete|secret|r2|d1|kv|login|rollback|tail)$/,
  prisma: /^(reset|execute|push)$/,
  'drizzle-kit': /^(push|drop)$/,
  alembic: /^downgrade$/,
  swift: /^-e$|^repl$/,
  tox: /^-x/,
  dotnet: /^(nuget|tool|publish|script|exec|fsi)$/,
  changeset: /^publish$/,
  lerna: /^(publish|exec)$/,
  composer: /^(global|config|exec|self-update)$/,
  mvn: /^(deploy|.*exec(-maven-plugin)?(:[\d.]+)?:exec.*)$/,
  gradle: /^(publish|deploy|-I)/,
  gradlew: /^(publish|deploy|-I)/,
  sbt: /^(eval|set)\b/,
  'django-admin': projectShell,
  flask: projectShell,
  meson: /^devenv$/,
  ninja: /^browse$/,
  nim: /^(e|--eval.*)$/,
  latexmk: /^-[er]$|^-(\w*latex|bibtex|biber|makeindex|dvi\w*|ps\w*|pdf\w+)=/,
  mmdc: /^(-[pC]|--(puppeteer|css)\w*)$/,
  'pre-commit': /^try-repo$/,
  rustup: /^(uninstall|remove|link|run|self)$/,
  'ts-node': /^-e|^--e|^-p/,
  tsx: /^-e|^--e|^-p/,
  dot: /^-[cln]/,
  convert: imageCode,
  magick: imageCode,
  identify: imageCode,
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
  /** Commands whose words belong to a program of the project, which `run` and its like name first. */
  readonly passing?: RegExp
  /** The options, in the notation of match-options.ts. None leads out of the project. */
  readonly options: string
  /** Words that lead out of the project. */
  readonly refused?: RegExp
}

const node: Manager = {
  reading:
    /^(ls|list|ll|la|view|v|info|show|outdated|why|explain|root|prefix|bin|help|search|fund|ping|doctor|query|--version|licenses|find-dupes|get|-v)$/,
  running:
    /^(run|run-script|rum|test|t|tst|it|start|stop|restart|build|dev|lint|format|check|typecheck|coverage|ci|clean-install|install|i|in|add|install-test|update|up|upgrade|dedupe|prune|rebuild|audit|init|create|create-lockfile|remove|rm|uninstall|un|pack|import|workspaces|workspace|patch|generate|(test|build|lint):[\w:-]+|e2e|version|pkg)$/,
  starting: /^(exec|x|dlx)$/,
  options:
    'DEOPBfaliLsruvwqSyV w= F= C= | dev save-dev save save-exact save-optional save-prod save-peer no-save prod production peer optional exact frozen-lockfile no-frozen-lockfile immutable prefer-offline offline ignore-scripts legacy-peer-deps force no-audit no-fund no-optional no-progress progress if-present if-necessary silent quiet verbose loglevel= workspace= workspaces include-workspace-root workspace-root recursive filter= dir= cwd= yes omit= include= include-workspace-root package-lock-only no-package-lock lockfile-only fix-lockfile dry-run depth= json long parseable latest interactive audit-level= parallel stream sequential no-bail bail? watch? watchAll? coverage? all frozen hot smol only-failures rerun-each= timeout= reporter= version help pack-destination> ignore-workspace strict-peer-dependencies no-strict-peer-dependencies shamefully-hoist aggregate-output color no-color resume-from= changed-files-ignore-pattern= test-pattern= ignore-engines ignore-optional ignore-platform check-files flat non-interactive pure-lockfile link-workspace-packages hoist? no-hoist node-linker= fund? audit?',
}
/** Unlike npm, these hand options to the script without dashes in between. */
const nodeScripts: Manager = {
  ...node,
  passing:
    /^(run|run-script|test|t|start|dev|build|lint|format|check|typecheck|coverage|e2e|workspace|(test|build|lint):[\w:-]+)$/,
}
const pip: Manager = {
  reading: /^(list|show|freeze|check|help|inspect|--version|-V|index|debug)$/,
  running: /^(install|download|wheel)$/,
  options:
    'oluUqvI r< e< c< d> w> | format= outdated uptodate local not-required verbose quiet version all requirement< editable< constraint< upgrade upgrade-strategy= no-deps no-cache-dir disable-pip-version-check pre only-binary= no-binary= progress-bar= prefer-binary require-hashes no-input dry-run force-reinstall ignore-installed no-build-isolation no-compile dest> wheel-dir> files exclude= exclude-editable python-version= platform= retries= timeout= no-color',
  refused: /^(git\+|https?:|file:)/,
}
const python: Manager = {
  reading: /^(show|check|version|--version|env|about|list|tree|help)$/,
  running: /^(install|add|remove|lock|update|build|init|new|sync|venv|export|python)$/,
  starting: /^run$/,
  options:
    'qvUnDlot G= E= p= r< o> | dev group= extra= extras= all-extras no-dev only= with= without= frozen locked no-sync no-install-project no-root sync quiet verbose upgrade upgrade-package= requirements< dry-run python= no-interaction lock tree outdated latest top-level no-cache offline bare lib app package script= all-groups only-group= no-group= only-dev optional= format= output> without-hashes compile no-ansi version help name= seed clear depth= path? short all editable package= no-editable resolution= prerelease= refresh',
}
const system: Manager = {
  reading:
    /^(list|search|show|policy|info|madison|depends|rdepends|showpkg|--version|leaves|outdated|deps|desc|home|cat|query|repolist|config|doctor)$/,
  running: /^(install|update|upgrade|add|reinstall|fetch|check-update|makecache|-S|-Sy)$/,
  options:
    'yqfsdvnali | yes assume-yes quiet no-install-recommends no-install-suggests simulate dry-run download-only installed upgradable all-versions manual-installed update no-cache virtual= formula verbose json? versions depends noconfirm needed names-only full refresh assumeno fix-broken fix-missing no-upgrade only-upgrade version help installed-by= tree',
  refused: /^(\.?\/.*|https?:.*)$/,
}
const ruby: Manager = {
  reading: /^(list|show|info|outdated|check|--version|help|env|platform|search)$/,
  running: /^(install|update|add|lock|clean|config|init)$/,
  starting: /^exec$/,
  options:
    'Nrlaqd j= v= | without= with= jobs= quiet local deployment retry= no-document development no-ri no-rdoc all details versions version= pre conservative full-index redownload frozen dry-run force group= groups= parseable only-explicit strict minor major patch paths name-only remote',
  refused: /^--./,
}

export const managers: Readonly<Record<string, Manager>> = {
  npm: node,
  pnpm: nodeScripts,
  yarn: { ...nodeScripts, running: new RegExp(`${node.running.source}|^$`) },
  bun: { ...nodeScripts, running: new RegExp(`${node.running.source}|\\.(ts|js|tsx|jsx|mjs)$`) },
  pip,
  uv: python,
  poetry: python,
  pipenv: python,
  pipx: { reading: /^(list|--version)$/, running: /^install$/, starting: /^run$/, options: 'qf | quiet force python=' },
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
    options:
      'rlqvkdni p= F= j= e= | release lib bin= bins example= examples test= tests bench= benches all-targets all workspace exclude= package= features= all-features no-default-features quiet verbose jobs= keep-going locked offline frozen message-format= color= profile= target= dry-run dev build edition= name= vcs= allow-dirty allow-staged allow-no-vcs fix duplicates invert= edges= depth= prefix= no-dedupe format= format-version= no-deps document-private-items no-run no-fail-fast check list doc manifest-path< optional rename= vers= limit= fix-version timings aggressive precise= root-deps-only no-capture nocapture version help',
    passing: /^(run|r)$/,
  },
  go: {
    reading: /^(version|env|list|doc|help)$/,
    running: /^(build|test|vet|fmt|mod|run|get|generate|tool|clean|work|fix)$/,
    options:
      '~ | v x n race json m deps u t d test e compiled find versions all short benchmem cover failfast a i fullpath testcache cache buildvcs? count= run= bench= skip= fuzz= fuzztime= benchtime= coverprofile> cpuprofile> memprofile> timeout= parallel= p= tags= mod= trimpath o> ldflags= gcflags= f= shuffle= cpu= list= covermode= coverpkg= vet= go= src c',
    passing: /^(run|tool)$/,
    refused: /extld|^(download|edit)=/,
  },
  deno: {
    reading: /^(--version|info|help|doc)$/,
    running: /^(test|fmt|lint|run|task|check|bench|compile|add|remove|cache|coverage)$/,
    options:
      'Aqr o> | allow-all allow-net? allow-read? allow-write? allow-env? allow-run? allow-sys? check no-check fix json watch coverage? filter= quiet reload? unstable? frozen? parallel no-lock fail-fast? dev output> no-prompt cached-only doc rules help version',
    passing: /^(run|task)$/,
    refused: /^(-|https?:.*|(npm|jsr|data):.*)$/,
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

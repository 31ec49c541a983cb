/** Variables that change what programs do. A value nobody looked at is not passed on to them. */

import { Bounded } from '../model/bounded.ts'
import { ANY, isLiteral, shown, type Field } from './marks.ts'
import { zoneOf, places } from './paths.ts'
import { clone, type Call } from './shell.ts'

/** Programs look these up to find what they shall run, load, trust or talk to. */
const STEERING =
  /^(PATH|CDPATH|ENV|BASH_ENV|BASHOPTS|SHELLOPTS|PS[0-4]|PROMPT_COMMAND|PROMPT_DIRTRIM|FPATH|ZDOTDIR|SHELL|HOME|INPUTRC|EXECIGNORE|GLOBIGNORE|LESS\w*|MAN\w+|BROWSER|EDITOR|VISUAL|PAGER|FCEDIT|HIST\w*|TMOUT|CC|CXX|LD|AR|AS|CPP|FC|MAKE|OPENSSL_\w+|TERMINFO\w*|LOCPATH|NLSPATH|RES_OPTIONS|HOSTALIASES|R_\w+|TAR_\w+|GREP_\w+|GZIP|POSIXLY_CORRECT|IGNOREEOF|COMSPEC|_JAVA\w*|JDK\w+|BASH_\w+)$|^(LD_|DYLD_|GIT_|SSH_|SUDO_|XDG_|DOCKER_|KUBE|AWS_|AZURE_|GOOGLE_|VAULT_|OPENAI_|ANTHROPIC_|HF_|PYTHON|PERL|RUBY|NODE_(OPTIONS|PATH|EXTRA|REPL|V8|TLS)|npm_|NPM_|YARN_|PNPM_|BUN_|PIP_|UV_|POETRY_|CARGO_(?!TERM|INCREMENTAL)|RUSTC|RUSTDOC|GO(?!OS$|ARCH$|ARM$|MAXPROCS$|GC$|TRACEBACK$)|MAVEN_|GRADLE_|JAVA_|CLASSPATH|CMAKE_|NINJA|LUA_|PHP|CONDA|VIRTUAL_ENV|GCONV|MALLOC_|G(CC|LIBC)_|SYSTEMD_|DBUS_|ELECTRON_|PLAYWRIGHT_|PUPPETEER_|WGET|CURL|ALL_PROXY|NO_PROXY|HTTPS?_PROXY|FTP_PROXY)|_(PRELOAD|WRAPPER|COMMAND|CMD|OPTIONS|OPTS|FLAGS|SHELL|EDITOR|PAGER|ASKPASS|BASE_URL|API_BASE|ENDPOINT|PROXY|PROGRAM|STARTUP|HOOKS?|INIT|LAUNCHER|RUNNER|PROFILE)$|^(all|no|https?|ftp)_proxy$/i

/** Of those above, what is common and harmless with any known value. */
const HARMLESS =
  /^(PYTHON(UNBUFFERED|DONTWRITEBYTECODE|HASHSEED|IOENCODING|UTF8|WARNINGS|FAULTHANDLER)|GIT_(AUTHOR|COMMITTER)_(NAME|EMAIL|DATE)|GIT_TERMINAL_PROMPT|DOCKER_BUILDKIT|PIP_(NO_CACHE_DIR|DISABLE_PIP_VERSION_CHECK)|UV_(SYSTEM_PYTHON|NO_CACHE)|NPM_CONFIG_(LOGLEVEL|FUND|AUDIT|COLOR)|npm_config_(loglevel|fund|audit|color)|GO111MODULE|GOFLAGS_NONE|HIST(SIZE|CONTROL|TIMEFORMAT))$/

/** What may be passed on to programs on a machine that is not disposable. */
const KNOWN =
  /^(NODE_ENV|CI|DEBUG|VERBOSE|FORCE_COLOR|NO_COLOR|CLICOLOR(_FORCE)?|COLOR|TZ|LANG|LANGUAGE|LC_[A-Z]+|PORT|HOST|RUST_(BACKTRACE|LOG)|CARGO_(TERM_COLOR|INCREMENTAL)|LOG_LEVEL|GOOS|GOARCH|GOMAXPROCS|CGO_ENABLED|TERM|COLUMNS|LINES|DEBIAN_FRONTEND|RAILS_ENV|RACK_ENV|MIX_ENV|APP_ENV|FLASK_ENV|DJANGO_SETTINGS_MODULE|DATABASE_URL|BASE_REF|TEST_[A-Z_]+|IFS)$/

/** Of the steering ones, those that hold a command line. */
const COMMANDS = /(PAGER|EDITOR|VISUAL|BROWSER|COMMAND|_CMD|ASKPASS|_DIFF|FCEDIT|LESSOPEN)$/

/** PAGER=cat and the like switch a program off rather than on. */
const SWITCHED_OFF: Readonly<Record<string, readonly string[]>> = {
  PAGER: ['cat', ''],
  GIT_PAGER: ['cat', ''],
  MANPAGER: ['cat', ''],
  GIT_EDITOR: ['true', ':'],
  EDITOR: ['true', ':'],
  LESS: ['', '-R', '-FRX', 'FRX'],
  HOMEBREW_NO_AUTO_UPDATE: ['1'],
}

/** `exported`: given to the program it stands before, or to all that follow. */
export function judgeVariable(call: Call, name: string, value: Field, exported: boolean): void {
  if (SWITCHED_OFF[name]?.includes(value) || HARMLESS.test(name) || isOwnPath(call, name, value)) return
  if (STEERING.test(name)) {
    call.ask(`${name} is set to ${shown(value)}, which changes what other programs do`, null)
    if (COMMANDS.test(name)) call.judge.script(value, clone(call.shell), 'none')
  } else if (exported && !call.judge.around.sandboxed && !KNOWN.test(name))
    call.ask(`${name} is passed on to other programs`, null)
}

/** Names come from what is judged: the memory is kept small. */
const steering = new Bounded<string, boolean>(2_000)

const isSteering = (name: string): boolean => {
  const known = steering.get(name)
  if (known !== undefined) return known
  const found = STEERING.test(name)
  steering.set(name, found)
  return found
}

/** Variables are set in more ways than by assignment: read, for, printf -v, arithmetic. All count when a program starts. */
export function judgeVariables(call: Call): void {
  for (const [name, { candidates }] of call.shell.vars)
    if (isSteering(name)) for (const value of candidates) judgeVariable(call, name, value, false)
}

/** Where programs look for more: in the workspace, or after everything that was there before. */
function isOwnPath(call: Call, name: string, value: Field): boolean {
  if (name === 'PYTHONPATH' || name === 'NODE_PATH') return value.split(':').every((path) => inside(call, path))
  return name === 'PATH' && call.judge.around.sandboxed && value.startsWith(`${ANY}:`) && isLiteral(value.slice(1))
}

const inside = (call: Call, path: Field): boolean =>
  isLiteral(path) && places(path, call.shell).every((place) => zoneOf(place, call.judge.around) === 'inside')

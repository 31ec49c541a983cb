/** Judges variables that change the behaviour of programs. An unknown value of such a variable needs approval. */

import { BoundedMap } from '../model/bounded-map.ts'
import { anyText, isLiteral, renderField, type Field } from './field.ts'
import { getZone, resolvePaths } from './path-zones.ts'
import { cloneShell, type Call } from './shell-state.ts'

/** Programs read these variables to decide which code, files, settings and hosts they use. */
const steeringVariable =
  /^(PATH|CDPATH|ENV|BASH_ENV|BASHOPTS|SHELLOPTS|PS[0-4]|PROMPT_COMMAND|PROMPT_DIRTRIM|FPATH|ZDOTDIR|SHELL|HOME|INPUTRC|EXECIGNORE|GLOBIGNORE|LESS\w*|MAN\w+|BROWSER|EDITOR|VISUAL|PAGER|FCEDIT|HIST\w*|TMOUT|CC|CXX|LD|AR|AS|CPP|FC|MAKE|OPENSSL_\w+|TERMINFO\w*|LOCPATH|NLSPATH|RES_OPTIONS|HOSTALIASES|R_\w+|TAR_\w+|GREP_\w+|GZIP|POSIXLY_CORRECT|IGNOREEOF|COMSPEC|_JAVA\w*|JDK\w+|BASH_\w+)$|^(LD_|DYLD_|GIT_|SSH_|SUDO_|XDG_|DOCKER_|KUBE|AWS_|AZURE_|GOOGLE_|VAULT_|OPENAI_|ANTHROPIC_|HF_|PYTHON|PERL|RUBY|NODE_(OPTIONS|PATH|EXTRA|REPL|V8|TLS)|npm_|NPM_|YARN_|PNPM_|BUN_|PIP_|UV_|POETRY_|CARGO_(?!TERM|INCREMENTAL)|RUSTC|RUSTDOC|GO(?!OS$|ARCH$|ARM$|MAXPROCS$|GC$|TRACEBACK$)|MAVEN_|GRADLE_|JAVA_|CLASSPATH|CMAKE_|NINJA|LUA_|PHP|CONDA|VIRTUAL_ENV|GCONV|MALLOC_|G(CC|LIBC)_|SYSTEMD_|DBUS_|ELECTRON_|PLAYWRIGHT_|PUPPETEER_|WGET|CURL|ALL_PROXY|NO_PROXY|HTTPS?_PROXY|FTP_PROXY)|_(PRELOAD|WRAPPER|COMMAND|CMD|OPTIONS|OPTS|FLAGS|SHELL|EDITOR|PAGER|ASKPASS|BASE_URL|API_BASE|ENDPOINT|PROXY|PROGRAM|STARTUP|HOOKS?|INIT|LAUNCHER|RUNNER|PROFILE)$|^(all|no|https?|ftp)_proxy$/i

/** Steering variables that are common, and harmless with any known value. */
const harmlessVariable =
  /^(PYTHON(UNBUFFERED|DONTWRITEBYTECODE|HASHSEED|IOENCODING|UTF8|WARNINGS|FAULTHANDLER)|GIT_(AUTHOR|COMMITTER)_(NAME|EMAIL|DATE)|GIT_TERMINAL_PROMPT|DOCKER_BUILDKIT|PIP_(NO_CACHE_DIR|DISABLE_PIP_VERSION_CHECK)|UV_(SYSTEM_PYTHON|NO_CACHE)|NPM_CONFIG_(LOGLEVEL|FUND|AUDIT|COLOR)|npm_config_(loglevel|fund|audit|color)|GO111MODULE|GOFLAGS_NONE|HIST(SIZE|CONTROL|TIMEFORMAT))$/

/** Variables that may be exported on a host that is not a sandbox. */
const passableVariable =
  /^(NODE_ENV|CI|DEBUG|VERBOSE|FORCE_COLOR|NO_COLOR|CLICOLOR(_FORCE)?|COLOR|TZ|LANG|LANGUAGE|LC_[A-Z]+|PORT|HOST|RUST_(BACKTRACE|LOG)|CARGO_(TERM_COLOR|INCREMENTAL)|LOG_LEVEL|GOOS|GOARCH|GOMAXPROCS|CGO_ENABLED|TERM|COLUMNS|LINES|DEBIAN_FRONTEND|RAILS_ENV|RACK_ENV|MIX_ENV|APP_ENV|FLASK_ENV|DJANGO_SETTINGS_MODULE|DATABASE_URL|BASE_REF|TEST_[A-Z_]+|IFS)$/

/** Steering variables that hold a command line. */
const commandVariable = /(PAGER|EDITOR|VISUAL|BROWSER|COMMAND|_CMD|ASKPASS|_DIFF|FCEDIT|LESSOPEN)$/

/** Values such as PAGER=cat disable a program. */
const disablingValues: Readonly<Record<string, readonly string[]>> = {
  PAGER: ['cat', ''],
  GIT_PAGER: ['cat', ''],
  MANPAGER: ['cat', ''],
  GIT_EDITOR: ['true', ':'],
  EDITOR: ['true', ':'],
  LESS: ['', '-R', '-FRX', 'FRX'],
  HOMEBREW_NO_AUTO_UPDATE: ['1'],
}

/** `exported`: the variable is passed to one program or to all later ones. */
export function judgeVariable(call: Call, name: string, value: Field, isExported: boolean): void {
  if (disablingValues[name]?.includes(value) || harmlessVariable.test(name) || isWorkspacePath(call, name, value))
    return
  if (steeringVariable.test(name)) {
    call.ask(`${name} is set to ${renderField(value)}, which changes what other programs do`, null)
    if (commandVariable.test(name)) call.judge.judgeScript(value, cloneShell(call.shell), 'none')
  } else if (isExported && !call.judge.host.isSandboxed && !passableVariable.test(name))
    call.ask(`${name} is passed on to other programs`, null)
}

/** Bounded, because the names come from judged commands. */
const steeringCache = new BoundedMap<string, boolean>(2_000)

const isSteering = (name: string): boolean => {
  const cached = steeringCache.get(name)
  if (cached !== undefined) return cached
  const isMatch = steeringVariable.test(name)
  steeringCache.set(name, isMatch)
  return isMatch
}

/** Judges all variables when a program starts, because `read`, `for`, `printf -v` and arithmetic also set them. */
export function judgeVariables(call: Call): void {
  for (const [name, { candidates }] of call.shell.vars)
    if (isSteering(name)) for (const value of candidates) judgeVariable(call, name, value, false)
}

/** Whether a search path only adds directories of the workspace, or directories after all existing ones. */
function isWorkspacePath(call: Call, name: string, value: Field): boolean {
  if (name === 'PYTHONPATH' || name === 'NODE_PATH')
    return value.split(':').every((path) => isInsideWorkspace(call, path))
  return name === 'PATH' && call.judge.host.isSandboxed && value.startsWith(`${anyText}:`) && isLiteral(value.slice(1))
}

const isInsideWorkspace = (call: Call, path: Field): boolean =>
  isLiteral(path) && resolvePaths(path, call.shell).every((resolved) => getZone(resolved, call.judge.host) === 'inside')

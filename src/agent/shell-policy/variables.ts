/** Lists the variables that may be set without approval. */

import { anyText, isKnown, isLiteral, renderField, type Field } from '#agent/path-policy/field.ts'
import { getZone, resolvePath } from '#agent/path-policy/judge-path.ts'
import { addFinding, addLiteral, type JudgeScope } from './shell-state.ts'

/**
 * Variables that steer the shell or programs, exported or not: code, files, settings, hosts. Some of them evaluate
 * arithmetic when they are assigned.
 */
const steeringNames =
  /^(PATH|CDPATH|ENV|BASH\w*|SHELLOPTS|PS[0-4]|PROMPT_\w+|FPATH|ZDOTDIR|SHELL|HOME|INPUTRC|\w+IGNORE|HIST\w*|histchars|auto_resume|TMOUT|S?RANDOM|SECONDS|LINENO|EPOCH\w*|OPTIND|OPTERR|DIRSTACK|FUNCN\w+|GROUPS|E?UID|PPID|MAIL\w*|TIMEFORMAT|COMP_\w+|READLINE_\w+|IGNOREEOF|POSIXLY_CORRECT|LESS\w*|MAN\w+|BROWSER|EDITOR|VISUAL|PAGER|FCEDIT|CC|CXX|LD|AR|AS|CPP|FC|MAKE\w*|TERMINFO\w*|TERMCAP|LOCPATH|NLSPATH|RES_OPTIONS|HOSTALIASES|GZIP|COMSPEC|CLASSPATH|NINJA\w*|KUBE\w*|PERL\w*|RUBY\w*|LUA_\w+|PHP\w*|WGET\w*|CURL\w*|RUSTC\w*|RUSTDOC\w*|TEXINPUTS|JDK\w+|_JAVA\w*)$|^(LD|DYLD|GIT|SSH|SUDO|XDG|DOCKER|AWS|AZURE|GOOGLE|GCP|VAULT|OPENAI|ANTHROPIC|HF|PYTHON|NODE|NPM|YARN|PNPM|BUN|DENO|PIP|UV|POETRY|CARGO|GO|MAVEN|GRADLE|JAVA|CMAKE|CONDA|GCONV|MALLOC|GCC|GLIBC|SYSTEMD|DBUS|ELECTRON|PLAYWRIGHT|PUPPETEER|OPENSSL|SSL|R|TAR|GREP|RIPGREP|FZF|BAT|PSQL|PG|MYSQL|LC)_|_(PRELOAD|WRAPPER|COMMAND|CMD|OPTIONS|OPTS|ARGS|FLAGS|SHELL|EDITOR|PAGER|ASKPASS|URL|BASE|ENDPOINT|PROXY|PROGRAM|STARTUP|HOOKS?|INIT|LAUNCHER|RUNNER|PROFILE|PATHS?|FILES?|DIR|HOME|CONFIG\w*|RC|MODULES?|PLUGINS?|LIB\w*|BIN|EXEC\w*)$|^(all|no|https?|ftp)_proxy$|RC$|^npm_config_/

/** Variables that may be given to programs with any known value. */
const harmlessNames =
  /^(NODE_ENV|NODE_NO_WARNINGS|CI|DEBUG|VERBOSE|QUIET|FORCE_COLOR|NO_COLOR|CLICOLOR(_FORCE)?|COLOR|TZ|LANG|LANGUAGE|LC_[A-Z]+|PORT|HOST|HOSTNAME|RUST_(BACKTRACE|LOG)|CARGO_(TERM_COLOR|INCREMENTAL)|LOG_LEVEL|LOGLEVEL|GO(OS|ARCH|ARM|MAXPROCS|GC|TRACEBACK)|GO111MODULE|CGO_ENABLED|TERM|COLUMNS|LINES|DEBIAN_FRONTEND|(RAILS|RACK|MIX|APP|FLASK|DJANGO|DEPLOY|BUILD|VITE)_ENV|FLASK_DEBUG|DATABASE_URL|TEST_DATABASE_URL|BASE_REF|(TEST|APP|MY|FEATURE|VITE|NEXT_PUBLIC|REACT_APP)_[A-Z_]*(NAME|ENV|MODE|LEVEL|PORT|HOST|ID|KEY|FLAG|VERSION|SEED|SIZE|COUNT|TIMEOUT)|VERSION|TAG|BRANCH|NAME|MSG|MESSAGE|TITLE|MODE|SEED|JOBS|THREADS|WORKERS|[A-Z]|FOO|BAR|BAZ|PYTHON(UNBUFFERED|DONTWRITEBYTECODE|HASHSEED|IOENCODING|UTF8|WARNINGS|FAULTHANDLER)|GIT_(AUTHOR|COMMITTER)_(NAME|EMAIL|DATE)|GIT_TERMINAL_PROMPT|GIT_MERGE_AUTOEDIT|DOCKER_BUILDKIT|PIP_(NO_CACHE_DIR|DISABLE_PIP_VERSION_CHECK)|UV_(SYSTEM_PYTHON|NO_CACHE)|NPM_CONFIG_(LOGLEVEL|FUND|AUDIT|COLOR|YES)|HIST(SIZE|CONTROL|TIMEFORMAT)|IFS)$/i

/** A value that is a number or a switch steers no program to a file or to code. */
const plainValue = /^(\d{1,9}|true|false|yes|no|on|off|test|dev|prod|debug|info|warn|error|local)?$/i

/** Values such as PAGER=cat disable a program. */
const harmlessValues: Readonly<Record<string, RegExp>> = {
  PAGER: /^(cat)?$/,
  GIT_PAGER: /^(cat)?$/,
  MANPAGER: /^(cat)?$/,
  GIT_EDITOR: /^(true|:)$/,
  EDITOR: /^(true|:)$/,
  LESS: /^-?[FRX]*$/,
  NODE_OPTIONS: /^--max[-_]old[-_]space[-_]size=\d+$/,
  NODE_TEST_CONTEXT: /^$/,
  GOFLAGS: /^-(mod=(mod|vendor|readonly)|count=1)$/,
  HISTFILE: /^\/dev\/null$/,
  MAKEFLAGS: /^-j ?\d*$/,
}

/** Judges one assignment. `isExported`: the variable reaches programs, because it is exported or was already. */
export function judgeVariable(scope: JudgeScope, name: string, value: Field, isExported: boolean): void {
  if (isHarmlessAssignment(scope, name, value)) return
  const { env } = scope.judge.host
  const reaches = isExported || (env !== undefined && Object.hasOwn(env, name))
  if (!steeringNames.test(name) && (!reaches || plainValue.test(value))) return
  addFinding(scope.judge, 'ask', `${name} is set to ${renderField(value)}, which may change what programs do`)
  // The value may be a command line.
  scope.judge.hasUnknownCode = true
  addLiteral(scope.judge, value)
}

function isHarmlessAssignment(scope: JudgeScope, name: string, value: Field): boolean {
  if (harmlessNames.test(name) && (isKnown(value) || !steeringNames.test(name))) return true
  if (Object.hasOwn(harmlessValues, name) && harmlessValues[name]?.test(value)) return true
  return scope.judge.host.isSandboxed && isOwnPath(scope, name, value)
}

/** Whether a search path adds directories of the workspace only, or a directory after all others. */
function isOwnPath({ judge: { host }, shell }: JudgeScope, name: string, value: Field): boolean {
  const isInside = (path: Field) => shell.cwd.every((cwd) => getZone(resolvePath(path, cwd), host) === 'inside')
  const paths = value.split(':')
  if (name === 'PATH' && (paths.length < 2 || paths.shift() !== anyText)) return false
  return /^(PATH|PYTHONPATH|NODE_PATH)$/.test(name) && paths.every((path) => isLiteral(path) && isInside(path))
}

/** Defines the names of a tenant's secrets. A secret is an environment variable of commands, so its name must be free. */

import * as z from 'zod'

/** Shells, loaders and programs take code, options or paths from these variables. */
const reservedNames = new RegExp(
  `^(?:${[
    'PATH|HOME|USER|LOGNAME|SHELL|SHLVL|PWD|OLDPWD|TMPDIR|TERM|LANG|LC_.*|TZ|HOSTNAME|EDITOR|VISUAL|.*PAGER|BROWSER',
    '_|IFS|ENV|BASH.*|CDPATH|GLOBIGNORE|SHELLOPTS|PS[0-9]|PROMPT_COMMAND|OPT(?:IND|ARG|ERR)|HIST.*|FIGNORE|INPUTRC',
    'U?ID|EUID|PPID|RANDOM|SECONDS|LINENO|GROUPS|DIRSTACK|PIPESTATUS|FUNCNAME|REPLY|EPOCH.*|SRANDOM|KSH_.*|ZDOTDIR',
    'LD_.*|DYLD_.*|GCONV_PATH|MALLOC_.*|GLIBC_.*|NODE_(?:OPTIONS|PATH|EXTRA_CA_CERTS|TLS_.*)|PYTHON.*|PERL.*|RUBY(?:OPT|LIB)',
    'JAVA_TOOL_OPTIONS|_?JAVA_OPTIONS|CLASSPATH|MAVEN_OPTS|GRADLE_OPTS|LUA_.*|PHPRC|PHP_INI_SCAN_DIR|GEM_.*|BUNDLE_GEMFILE',
    'GIT_(?:SSH|EXTERNAL|EDITOR|SEQUENCE|CONFIG|ASKPASS|PROXY|EXEC|TEMPLATE|DIR|WORK_TREE|INDEX|OBJECT|TRACE).*|SSH_ASKPASS.*',
    'CC|CXX|CPP|LD|AR|MAKE(?:FILES|FLAGS)|[CLF].*FLAGS|RIPGREP_CONFIG_PATH|LESS(?:OPEN|CLOSE)?|GREP_OPTIONS|TAR_OPTIONS|CURL_HOME',
    '(?:HTTPS?|ALL|NO|FTP)_PROXY|SSL_CERT_.*|CURL_CA_BUNDLE|REQUESTS_CA_BUNDLE|OPENSSL_CONF|RUSTC.*|GO(?:FLAGS|PATH|ROOT)|NPM_CONFIG_.*',
  ].join('|')})$`,
)

export const secretName = z
  .string()
  .regex(/^[A-Z_][A-Z0-9_]{0,63}$/, 'Upper-case letters, digits and _, at most 64, no digit first.')
  .refine((name) => !reservedNames.test(name), 'Shells or programs use this variable: choose another name.')

export const maxSecrets = 50
/** Host scripts carry all granted values, and their length is limited. */
export const maxGrantedSecrets = 16

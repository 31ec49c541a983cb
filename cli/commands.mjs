/**
 * Lists the commands with their options. `words`: the least and the most words of each action, or of a command without actions.
 */

const text = { type: 'string' }
const oneOf = (...choices) => ({ ...text, choices })
const flag = { type: 'boolean' }
const session = { ...text, short: 's' }

const any = Number.POSITIVE_INFINITY
const [none, one, two] = [
  [0, 0],
  [1, 1],
  [2, 2],
]
const each = (names, words) => Object.fromEntries(names.map((name) => [name, words]))

export const commands = {
  login: {
    usage: 'login URL|LINK [KEY] · login --status · login --forget',
    says: 'store the address and the key of a server',
    options: { status: flag, forget: flag },
    words: [0, 2],
    load: () => import('./commands/login.mjs'),
  },
  screen: {
    usage: '[screen] [-s SESSION | --last] [-m MODEL]',
    says: 'talk to the agent on the whole terminal, as `talaria` alone does',
    options: { session, last: flag, model: { ...text, short: 'm' } },
    words: none,
    load: () => import('./commands/screen.mjs'),
  },
  chat: {
    usage: 'chat [-s SESSION | --last | --project ID] [-m MODEL] [--mode queue|steer|interrupt] [-f FILE]… [TEXT] [-]',
    says: 'talk to the agent; without a text line by line',
    options: {
      session,
      last: flag,
      model: { ...text, short: 'm' },
      mode: oneOf('queue', 'steer', 'interrupt'),
      file: { ...text, short: 'f', multiple: true },
      project: text,
      final: flag,
    },
    words: [0, any],
    load: () => import('./commands/chat.mjs'),
  },
  sessions: {
    usage:
      'sessions [ls [WORDS]] [--tag TAG] [--tool NAME] [--project ID] [--limit N] · show ID · rename ID TITLE · tag ID [TAG…] · pin|unpin|archive|unarchive ID · fork ID [RUN] · export ID [FILE|-] [--format md|html|json|jsonl|sharegpt] · prune [--older-than DAYS] [--archived] [--dry-run] [--yes] · rm ID…',
    says: 'list, change, save and clear sessions',
    options: {
      limit: text,
      archived: flag,
      tag: text,
      tool: text,
      project: text,
      format: oneOf('md', 'html', 'json', 'jsonl', 'sharegpt'),
      'older-than': text,
      'dry-run': flag,
      yes: flag,
    },
    words: {
      ls: [0, any],
      ...each(['show', 'pin', 'unpin', 'archive', 'unarchive'], one),
      rename: [2, any],
      tag: [1, any],
      fork: [1, 2],
      export: [1, 2],
      prune: none,
      rm: [1, any],
    },
    load: () => import('./commands/sessions.mjs'),
  },
  projects: {
    usage:
      'projects [ls] · show ID · add NAME [--instructions TEXT|@FILE] [-m MODEL] · set ID [--name NAME] [--instructions TEXT|@FILE] [-m MODEL] · members ID [role:NAME|key:ID=use|edit|manage…] · put ID FILE|- [PATH] · get ID PATH [FILE|-] · drop ID PATH · move SESSION ID|none · rm ID',
    says: 'sessions with common instructions, files and members',
    options: { name: text, instructions: text, model: { ...text, short: 'm' } },
    words: {
      ls: none,
      ...each(['show', 'set', 'rm'], one),
      add: [1, any],
      members: [1, any],
      put: [2, 3],
      get: [2, 3],
      ...each(['drop', 'move'], two),
    },
    load: () => import('./commands/projects.mjs'),
  },
  search: {
    usage: 'search WORDS [-s SESSION] [--limit N] [--sort newest|oldest]',
    says: 'find words in the messages of all sessions',
    options: { session, limit: text, sort: oneOf('newest', 'oldest') },
    words: [1, any],
    load: () => import('./commands/search.mjs'),
  },
  runs: {
    usage: 'runs follow SESSION [RUN] · show SESSION RUN · stop SESSION · steer SESSION TEXT · take-back SESSION RUN',
    says: 'follow and lead runs',
    words: { follow: [1, 2], show: two, stop: one, steer: [2, any], 'take-back': two },
    load: () => import('./commands/runs.mjs'),
  },
  files: {
    usage:
      'files ls SESSION [PATH] [-r] · get SESSION PATH [FILE|-] · put SESSION FILE|- PATH · mv SESSION PATH TO · rm SESSION PATH · sync SESSION FOLDER',
    says: 'read and write the files of a session',
    options: { recursive: { ...flag, short: 'r' } },
    words: { ls: [1, 2], get: [2, 3], put: [3, 3], mv: [3, 3], rm: two, sync: two },
    load: () => import('./commands/files.mjs'),
  },
  approve: {
    usage: 'approve [ID…] [--once | --session | --always | --deny] [--reason TEXT] [--answer TEXT] [--list]',
    says: 'decide what waits for a person; bare: one by one',
    options: {
      once: flag,
      session: flag,
      always: flag,
      deny: flag,
      list: flag,
      reason: text,
      answer: text,
    },
    words: [0, any],
    load: () => import('./commands/approve.mjs'),
  },
  jobs: {
    usage:
      'jobs [ls] · show ID · add SCHEDULE PROMPT [--name NAME] [--timezone ZONE] [--deliver TARGET] · run|pause|resume|rm ID · runs ID',
    says: 'prompts that run at their times',
    options: { name: text, deliver: text, timezone: text },
    words: { ls: none, ...each(['show', 'run', 'pause', 'resume', 'rm', 'runs'], one), add: [2, any] },
    load: () => import('./commands/jobs.mjs'),
  },
  batch: {
    usage:
      'batch FILE [--budget USD] [--per-prompt USD] [--concurrency N] [--max-steps N] [--max-output-tokens N] [-m MODEL] [--instructions TEXT] [--name NAME] [--detach] [--format results|talaria|sharegpt] [--out FILE] · ls · show|follow|results|cancel|retry|rm ID',
    says: 'many prompts of a file, each in a session of its own',
    options: {
      budget: text,
      'per-prompt': text,
      concurrency: text,
      'max-steps': text,
      'max-output-tokens': text,
      model: { ...text, short: 'm' },
      instructions: text,
      name: text,
      detach: flag,
      format: oneOf('results', 'talaria', 'sharegpt'),
      out: text,
    },
    words: { ls: none, ...each(['show', 'follow', 'results', 'cancel', 'retry', 'rm'], one), '*': none },
    load: () => import('./commands/batch.mjs'),
  },
  eval: {
    usage:
      'eval [FILE|FOLDER…] [-m MODEL]… [--filter TEXT] [--repeat N] [--concurrency N] [--strict] [--reporter terminal|json|junit|markdown] [--out FILE] [--record FILE]',
    says: 'run cases against the agent, and compare with the last run',
    options: {
      model: { ...text, short: 'm', multiple: true },
      filter: text,
      repeat: text,
      concurrency: text,
      strict: flag,
      reporter: oneOf('terminal', 'json', 'junit', 'markdown'),
      out: text,
      record: text,
    },
    words: [0, any],
    load: () => import('./commands/eval.mjs'),
  },
  keys: {
    usage: 'keys [ls] · add [--scopes a,b] [--name NAME] [--role ROLE] [--expires DATE] · rm ID',
    says: 'keys of your tenant',
    options: { scopes: text, name: text, role: text, expires: text },
    words: { ls: none, add: none, rm: one },
    load: () => import('./commands/keys.mjs'),
  },
  models: {
    usage: 'models [ls [WORDS]] [--provider NAME] · default MODEL · login openai-codex|copilot|xai-oauth|qwen-oauth',
    says: 'models with window and prices; the default; sign-in to a subscription',
    options: { provider: text },
    words: { ls: [0, any], default: one, login: one },
    load: () => import('./commands/models.mjs'),
  },
  settings: {
    usage: 'settings [ls] · get PATH · set PATH VALUE · unset PATH',
    says: 'read and change settings',
    words: { ls: none, get: one, set: [2, any], unset: one },
    load: () => import('./commands/settings.mjs'),
  },
  memory: {
    usage:
      'memory [ls] [--project ID] · add TEXT [--user|--project ID] · rm TEXT [--user|--project ID] · versions [--user|--project ID] · restore ID · forget WORDS [--yes] · forget --session ID|--person ID [--yes]',
    says: 'what the agent remembers, of everybody and of you; earlier versions; forgetting',
    options: { user: flag, project: text, yes: flag, session: text, person: text },
    words: { ls: none, ...each(['add', 'rm'], [1, any]), versions: none, restore: one, forget: [0, any] },
    load: () => import('./commands/memory.mjs'),
  },
  skills: {
    usage:
      'skills [ls] · show NAME · import URL [NAME] [--accept] · update NAME [--accept] · publish NAME OWNER/REPOSITORY · rm NAME · snapshot FILE · restore FILE [--accept]',
    says: 'instructions that the agent follows; a copy of all in a file',
    options: { accept: flag },
    words: { ls: none, ...each(['show', 'update', 'rm', 'snapshot', 'restore'], one), import: [1, 2], publish: two },
    load: () => import('./commands/skills.mjs'),
  },
  usage: {
    usage: 'usage [--group day|model|session|source[,…]] [--from DAY] [--to DAY] [--tz ZONE] [-s SESSION]',
    says: 'tokens, cost and limits',
    options: { group: text, from: text, to: text, tz: text, session },
    words: none,
    load: () => import('./commands/usage.mjs'),
  },
  channels: {
    usage: 'channels [ls] · test|pause|resume|rm ID',
    says: 'connections to messaging platforms',
    words: { ls: none, ...each(['test', 'pause', 'resume', 'rm'], one) },
    load: () => import('./commands/channels.mjs'),
  },
  import: {
    usage: 'import hermes DIR [--bundled] [--overwrite]',
    says: 'bring SOUL.md, memories, skills and sessions of Hermes Agent; keys are never read',
    options: { bundled: flag, overwrite: flag },
    words: { hermes: one },
    load: () => import('./commands/import.mjs'),
  },
  backup: {
    usage: 'backup FOLDER [--tenant ID | --all] [--night DATE|newest] [--passphrase-file FILE]',
    says: 'write tenants into a folder, sealed; for the owner',
    options: { tenant: text, all: flag, night: text, 'passphrase-file': text },
    words: one,
    load: () => import('./commands/backup.mjs'),
  },
  restore: {
    usage: 'restore FOLDER [--tenant ID] [--night DATE] [--passphrase-file FILE]',
    says: 'bring a backup into empty tenants, and compare',
    options: { tenant: text, night: text, 'passphrase-file': text },
    words: one,
    load: () => import('./commands/restore.mjs'),
  },
  shards: {
    usage: 'shards [move TENANT DATABASE | cool [TENANT] [--months N]]',
    says: 'the databases of histories, the move of a tenant, and old text to R2; for the owner',
    options: { months: text },
    words: { ls: none, move: two, cool: [0, 1] },
    load: () => import('./commands/shards.mjs'),
  },
  doctor: {
    usage: 'doctor',
    says: 'check the connection, the key and the deployment',
    words: none,
    load: () => import('./commands/doctor.mjs'),
  },
  open: {
    usage: 'open [--print]',
    says: 'open the page in the browser, signed in',
    options: { print: flag },
    words: none,
    load: () => import('./commands/open.mjs'),
  },
  acp: {
    usage: 'acp [--sync FOLDER]',
    options: { sync: text },
    says: 'speak the Agent Client Protocol over stdio, for editors',
    words: none,
    load: () => import('./commands/acp.mjs'),
  },
  completion: {
    usage: 'completion bash|zsh|fish',
    says: 'a script for the completion of your shell',
    words: one,
    load: () => import('./commands/completion.mjs'),
  },
}

const list = Object.entries(commands)
  .map(([name, { says }]) => `  ${name.padEnd(11)} ${says}`)
  .join('\n')

export const usage = `talaria: the command line of Talaria

  talaria                    the chat on the whole terminal
  talaria COMMAND …          talaria help COMMAND
  talaria -z TEXT            one question: the answer alone goes to stdout

${list}

  --json           machine-readable output
  --version        the version of the command line
  TALARIA_URL      address of the server (default: that of \`login\`, else http://localhost:8787)
  TALARIA_API_KEY  key of the server (default: that of \`login\`)

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 waits for a person, 4 no access.`

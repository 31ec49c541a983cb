// Parses the arguments of `npm start`. Unknown options are passed to `wrangler dev`.

export const help = `npm start -- [options]

  --port N           port to listen on (8787)
  --host ADDRESS     address to listen on (localhost); 0.0.0.0 is every interface of this machine
  --persist-to DIR   where sessions, the database and files are kept (.wrangler/state)
  --quiet-key        do not print the admin key, nor a link that signs in with it
  --help             this text

Other options go to \`wrangler dev\`. Settings come from the environment or from .dev.vars, the environment first.`

const flags = { '--quiet-key': 'quietKey', '--help': 'help', '-h': 'help' }
const values = { '--port': 'port', '--host': 'host', '--ip': 'host', '--persist-to': 'persistTo' }

export function readArguments(list) {
  const options = {
    port: 8787,
    host: 'localhost',
    persistTo: '.wrangler/state',
    quietKey: false,
    help: false,
    rest: [],
  }
  for (let at = 0; at < list.length; at++) {
    const [name, inline] = splitOnce(list[at])
    // After an unknown option, a word may be the value of that option.
    if (!name.startsWith('-') && !options.rest.length) throw new Error(misplaced(name))
    if (flags[name]) options[flags[name]] = true
    else if (values[name]) options[values[name]] = inline ?? valueAfter(name, list[++at])
    else options.rest.push(list[at])
  }
  return { ...options, port: portFrom(options.port) }
}

/** Without `--`, npm consumes the name of an option and passes only its value. */
const misplaced = (word) =>
  `${word}? Options stand behind two dashes. Write: npm start -- ${/^\d+$/.test(word) ? '--port' : '--persist-to'} ${word}`

const splitOnce = (argument) => {
  const at = argument.startsWith('--') ? argument.indexOf('=') : -1
  return at < 0 ? [argument, undefined] : [argument.slice(0, at), argument.slice(at + 1)]
}

function valueAfter(name, value) {
  if (value === undefined || value.startsWith('--')) throw new Error(`${name} needs a value`)
  return value
}

function portFrom(text) {
  const port = Number(text)
  if (!Number.isInteger(port) || port < 1 || port > 65535) throw new Error(`--port has to be 1 to 65535, not "${text}"`)
  return port
}

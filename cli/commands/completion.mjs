/** `talaria completion`: prints a script that completes commands and options. */

import { commands } from '../commands.mjs'
import { UsageError } from '../exits.mjs'
import { print } from '../output.mjs'

const names = Object.keys(commands)
const optionsOf = (name) =>
  ['--json', '--help', ...Object.keys(commands[name].options ?? {}).map((one) => `--${one}`)].join(' ')

export function run({ words: [shell], usage }) {
  const script = { bash, zsh, fish }[shell]
  if (!script) throw new UsageError(`talaria ${usage}`)
  print(script())
}

const bash = () => `_talaria() {
  local word=\${COMP_WORDS[COMP_CWORD]}
  if [ "$COMP_CWORD" -eq 1 ]; then COMPREPLY=($(compgen -W "${names.join(' ')} -z" -- "$word")); return; fi
  case \${COMP_WORDS[1]} in
${names.map((name) => `    ${name}) COMPREPLY=($(compgen -f -W "${optionsOf(name)}" -- "$word")) ;;`).join('\n')}
  esac
}
complete -F _talaria talaria`

const zsh = () => `autoload -U +X bashcompinit && bashcompinit
${bash()}`

const fish = () =>
  names
    .flatMap((name) => [
      `complete -c talaria -n __fish_use_subcommand -f -a ${name} -d '${commands[name].says.replaceAll("'", '’')}'`,
      ...optionsOf(name)
        .split(' ')
        .map((option) => `complete -c talaria -n '__fish_seen_subcommand_from ${name}' -l ${option.slice(2)}`),
    ])
    .join('\n')

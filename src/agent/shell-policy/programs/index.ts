/** Maps names of programs to their policies. A program without a policy needs approval. */

import { builtins } from '../builtins.ts'
import { base64, cat, echo, openssl, printf, rev, tac, tr, xxd } from '../decoders.ts'
import { shellProgram } from '../nested-shells.ts'
import type { Policy } from '../shell-state.ts'
import { wrappers } from '../wrappers.ts'
import { destructive } from './destructive.ts'
import { files } from './files.ts'
import { git } from './git.ts'
import { languages } from './languages.ts'
import { network } from './network.ts'
import { packages } from './packages.ts'
import { services } from './services.ts'
import { text } from './text.ts'

const shellNames = ['bash', 'sh', 'dash', 'zsh', 'ksh', 'mksh', 'ash', 'rbash', 'yash', 'csh', 'tcsh', 'fish']

export const programs: Readonly<Record<string, Policy>> = {
  ...files,
  ...languages,
  ...packages,
  ...services,
  ...network,
  ...text,
  ...destructive,
  ...wrappers,
  ...builtins,
  ...Object.fromEntries(shellNames.map((name) => [name, shellProgram])),
  git,
  cat,
  gcat: cat,
  echo,
  printf,
  base64,
  rev,
  tac,
  tr,
  xxd,
  openssl,
}

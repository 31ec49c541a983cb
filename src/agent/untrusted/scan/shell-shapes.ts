/**
 * Lists shapes of commands that read secrets, send them away, stay on a machine or destroy it. Context files, skills and
 * scripts may contain them; memory and prompts of jobs may not.
 */

import type { FindingKind } from './finding.ts'

/** A line has the shape when all of these patterns match it. Each alone is cheap on any text. */
export type Shape = { readonly kind: FindingKind; readonly all: readonly RegExp[] }

const secretPath =
  /\.ssh\/(?:id_|identity)|\/etc\/g?shadow\b|\.aws\/credentials|\.netrc\b|\.pgpass\b|\.git-credentials|\.kube\/config|\.docker\/config\.json|\.npmrc\b|\.pypirc\b|\.gnupg\/|\/proc\/(?:self|\d{1,7})\/environ|credentials\.json|(?:^|[\s/"'=@<])\.env(?!\.(?:example|sample|template|dist))(?:\.[a-z]{1,12})?(?=$|[\s"'`|;)&])/
const readCommand =
  /(?:^|[\s;&|`(])(?:cat|less|more|head|tail|bat|strings|xxd|od|base64|(?:cp|mv)(?!\s{1,4}\S{0,80}\.env\.(?:example|sample|template|dist))|tar|zip|grep|awk|sed|source|type|get-content|scp|rsync)\s/i
const network =
  /(?:^|[\s;&|`("'/])(?:curl|wget|nc|ncat|netcat|socat|telnet|scp|rsync|ftp|sftp|invoke-webrequest|iwr|nslookup|dig)\s/i
const secretVariable = '\\$(?:\\{|env:)?[A-Z_]{0,40}(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|PRIVATE)(?![a-z])'
const url = /https?:\/\//i
const writing = /(?:>>?|\btee\b|\b(?:echo|add|append|write|put|insert|install|copy|cp|save|place|store|inject|edit)\b)/i
const startFile =
  '(?:\\.bashrc|\\.bash_profile|\\.bash_login|\\.zshrc|\\.zprofile|\\.zshenv|\\.profile|/etc/profile|/etc/bash\\.bashrc|config\\.fish|/etc/rc\\.local|/etc/ld\\.so\\.preload|/etc/cron|LaunchAgents/|/etc/systemd/|systemd/user/)'

const shape = (kind: FindingKind, ...all: readonly RegExp[]): Shape => ({ kind, all })

export const shapes: readonly Shape[] = [
  shape('secret-read', readCommand, secretPath),
  shape('secret-read', /<\s{0,4}(?:~|\/|\$HOME)/, secretPath),
  shape('exfiltration', network, secretPath),
  shape('exfiltration', url, new RegExp(`https?://\\S{0,300}?${secretVariable}`)),
  shape(
    'exfiltration',
    network,
    new RegExp(`\\s(?:-d|-F|--data(?:-\\w{1,10})?|--form|--json|--post-data|--body-data)[=\\s]\\s{0,2}\\S{0,200}?${secretVariable}`),
  ),
  shape(
    'exfiltration',
    network,
    new RegExp(
      `\\s(?:-H|--header)[=\\s]\\s{0,2}["']?(?!Authorization\\b|X-[\\w-]{0,20}(?:Key|Token)\\b|Api-Key\\b|Private-Token\\b)[\\w-]{1,40}:\\s{0,2}[^"'\\n]{0,60}?${secretVariable}`,
      'i',
    ),
  ),
  shape('exfiltration', network, new RegExp(`(?:\\becho\\b|\\bprintf\\b|<<<)[^|\\n]{0,80}?${secretVariable}[^|\\n]{0,20}\\|?`), /\||<<</),
  shape('exfiltration', network, /(?:^|[\s;&|`(])(?:env|printenv|set|export\s-p)\s{0,3}\|/),
  shape('exfiltration', network, /\$\((?:env|printenv|cat\s)|`(?:env|printenv|cat\s)/, url),
  shape(
    'exfiltration',
    /!\[[^\]\n]{0,80}\]\(https?:\/\//i,
    /\(https?:\/\/[^)\n]{0,200}?[?&=/](?:\$\{?|\{\{?|<|\[|%7b)\s{0,2}[\w -]{0,30}(?:key|token|secret|password|data|conversation|history|summary|memory|context)/i,
  ),
  shape('exfiltration', /\/dev\/tcp\//),
  shape('persistence', /\bauthorized_keys\b/i, writing),
  shape('persistence', /\/etc\/sudoers|\bsudoers\b/i, writing),
  shape('persistence', /NOPASSWD:/i),
  shape('persistence', new RegExp(`(?:>>?|\\btee\\s(?:-a\\s)?)\\s{0,3}["']?[^\\s"'|;>]{0,60}?${startFile}`)),
  shape(
    'persistence',
    new RegExp(startFile),
    /\b(?:add|append|write|put|insert|inject)\b/i,
    /\b(?:curl|wget|nc|bash -[ic]|sh -c|python3? -c|eval)\s/,
  ),
  shape('persistence', /\bcrontab\s{1,3}-(?=$|\s|<)/, /\||<</),
  shape(
    'destructive',
    /\brm\s{1,4}(?:-[-\w]{1,30}\s{1,4}){0,6}["']?(?:\/|~\/?|\$\{?HOME\}?\/?|\/(?:etc|usr|bin|boot|lib|var|home|root)\/?)\*?["']?(?=$|[\s;&|)`.,"'])/,
    /\brm\s{1,4}-|\s-[a-zA-Z]*[rR]/,
  ),
  shape('destructive', /--no-preserve-root/),
  shape('destructive', /\bmkfs(?:\.\w{1,8})?\s|\bdd\s|>\s{0,2}\/dev\//, /(?:\bof=|>\s{0,2}|\s)\/dev\/(?:sd[a-z]|nvme\d|vd[a-z]|hd[a-z]|disk\d)/),
] // prettier-ignore

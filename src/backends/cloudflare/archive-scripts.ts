/** Builds the scripts that pack and unpack the archive of a workspace in a container. */

import { quote, type HostFolders } from '../host/scripts.ts'

/** Parts are transferred one by one, so that neither a request nor the memory holds a whole archive. */
export const partBytes = 4 * 1024 * 1024
export const partName = (part: number): string => `p${String(part).padStart(5, '0')}`

/** Exit code when the container is not prepared, or its workspace was removed: the copy stays as it is. */
export const nothingToSaveCode = 91
/** Exit code when an archive is not what was saved. */
export const damagedCode = 90

export type Packed = {
  /** When packing began, in seconds since 1970, by the clock of the container. */
  readonly at: string
  readonly parts: number
  readonly bytes: number
  readonly sha256: string
}

/**
 * Packs the workspace into parts and prints time, number of parts, bytes and hash. Modes, owners, times, links and any name
 * are kept. A file that changes meanwhile (code 1 of tar) is saved as it is read.
 */
export const packWorkspace = (
  { state, root }: HostFolders,
  at: string,
): string => `R=${quote(root)}; D=${quote(at)}; set -o pipefail
{ [ -e ${quote(state)}/boot ] && [ -d "$R" ]; } || exit ${nothingToSaveCode}
mkdir -p "$D" && t=$(date +%s.%N) || exit 1
{ tar --format=posix -C "$R" -cf - . 2> "$D/error"; c=$?; [ $c -le 1 ]; } | gzip -1 | split -b ${partBytes} -d -a 5 - "$D/p" || { tail -n 1 "$D/error"; exit 1; }
h=$(cat "$D"/p* | sha256sum) || exit 1
echo "$t $(find "$D" -name 'p*' | wc -l) $(cat "$D"/p* | wc -c) \${h%% *}"`

export function parsePacked(output: string): Packed {
  const [, at, parts, bytes, sha256] = /^(\d+\.\d+) (\d+) (\d+) ([0-9a-f]{64})\n$/.exec(output) ?? []
  if (at === undefined || sha256 === undefined) throw new Error('The size of the archive is unknown.')
  return { at, parts: Number(parts), bytes: Number(bytes), sha256 }
}

export type UnpackOptions = HostFolders & {
  /** The folder of the parts. */
  readonly at: string
  /** A copy without a hash is a squashfs file. */
  readonly copy: { readonly sha256?: string | undefined }
  readonly outcome: string
}

/**
 * Unpacks the parts beside the workspace and replaces it when all files are there: a restore that is interrupted begins
 * again. `restoring` marks a workspace that was already judged to be older than its copy.
 */
export function unpackWorkspace({ state, root, at, copy, outcome }: UnpackOptions): string {
  const unpack =
    copy.sha256 === undefined
      ? `cat "$D"/p* > "$D/all" && rm -f "$D"/p* && unsquashfs -no-progress -f -d "$N" "$D/all" > /dev/null 2> "$D/error"`
      : `cat "$D"/p* | gzip -dc 2> "$D/error" | tar --numeric-owner -C "$N" -xpf - 2>> "$D/error"`
  const verify =
    copy.sha256 === undefined
      ? ''
      : `h=$(cat "$D"/p* | sha256sum); [ "\${h%% *}" = ${copy.sha256} ] || { echo 'The hash is another one.'; exit ${damagedCode}; }\n`
  return `S=${quote(state)}; R=${quote(root)}; D=${quote(at)}; N="$S/new"; set -o pipefail
${verify}rm -rf "$N"; mkdir -p "$N" && : > "$S/restoring" || exit 1
{ ${unpack}; } || { tail -n 1 "$D/error"; rm -rf "$N"; exit 1; }
rm -rf -- "$R" 2>/dev/null
if [ ! -e "$R" ]; then mv -T "$N" "$R"; else cp -a "$N/." "$R/"; fi || exit 1
echo ${outcome} > "$S/restored"; rm -rf "$S/restoring" "$N"; :`
}

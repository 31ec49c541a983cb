/** Command lines that are written to keep the policy busy. Their length is that of the largest text that it reads. */

const repeat = (count: number, make: (i: number) => string, separator = ''): string =>
  Array.from({ length: count }, (_, i) => make(i)).join(separator)
const lines = (count: number, make: (i: number) => string): string => repeat(count, make, '\n')
const quoted = (text: string, times: number): string =>
  Array.from({ length: times }).reduce<string>((inner) => `eval '${inner.replaceAll("'", String.raw`'\''`)}'`, text)

export const hostileLines: Readonly<Record<string, string>> = {
  'pipes of tr': `echo ${'abcdef '.repeat(500)}${'| tr a-z b-za '.repeat(1100)}| bash`,
  'texts and changes of texts': `${lines(5, (i) => `foo '${'ls a;'.repeat(700)}${i}'`)}\n${repeat(100, (i) => `echo|tr a${i} b;`)}eval $X`,
  'arrays of 800 words': `a=(${repeat(800, (i) => `w${i} `)})\n${'for x in "${a[@]}"; do ls "${a[@]}"; done\n'.repeat(300)}eval $X`,
  'many eval': 'eval ls;'.repeat(1_200),
  'many unknown eval': 'eval "$X";'.repeat(1_200),
  'nested eval': quoted('ls', 7),
  'nested substitutions': `${'$('.repeat(1_500)}ls${')'.repeat(1_500)}`,
  'nested parentheses': `${'('.repeat(2_000)}ls${')'.repeat(2_000)}`,
  'nested loops': `${repeat(6, (i) => `for v${i} in 1 2 3; do `)}${repeat(200, (i) => `x${i}=$v1$v2; ls $x${i};`)}${'done;'.repeat(6)}`,
  'braces that multiply': lines(200, () => `echo ${'{a,b}'.repeat(18)}`),
  'braces without an end': lines(4, () => `echo {a,b}${'{'.repeat(4_000)}`),
  'branches with variables': `case $x in ${repeat(800, (i) => `a${i}) v${i}=1;; `)} esac`,
  'variables that name variables': `${lines(60, (i) => `v${i}='${repeat(20, (j) => `v${(i + j + 1) % 60}`, '+')}'`)}\n${'echo $((v1+v2))\n'.repeat(100)}`,
  'a loop over values that are evaluated':
    'for a in b c; do for b in a+a+a+a c; do for c in a+b+a+b+a+b d; do echo $((a+b+c)); done; done; done\n'.repeat(
      150,
    ),
  'texts that could be arguments': `${lines(150, (i) => `a${i}=/tmp/f${i}`)}\n${'rm $X $Y\n'.repeat(1_000)}`,
  'words that could be programs': lines(4, () => `x ${'rm / '.repeat(800)}`),
  'texts that could be scripts': `${lines(5, (i) => `foo '${'rm x /a '.repeat(480)}${i}'`)}\neval $X`,
  'wildcards in many directories': lines(4, () => `cat ${'*/'.repeat(2_000)}x`),
  'functions that call three others': `${lines(20, (i) => `f${i}(){ f${i + 1}; f${i + 1}; f${i + 1}; }`)}\nf0`,
  'words that double': `set -- ${'a '.repeat(1_500)}\n${'set -- "$@" "$@"\n'.repeat(900)}$1`,
  'variables in subshells': `${lines(400, (i) => `v${i}=1`)}\n${'(ls)\n'.repeat(1_200)}`,
  'a sum in let': lines(4, () => `let ${'A'.repeat(4_000)}`),
  'modes of umask and chmod': lines(2, () => `umask ${'o'.repeat(4_000)}\nchmod ${'ugo'.repeat(1_300)} x`),
  '100 KB of commands': 'rm x / '.repeat(14_300),
  '100 KB behind sudo': 'sudo rm -r /tmp '.repeat(6_250),
  '100 KB of quotes': `"rm' / `.repeat(14_300),
  '100 KB of different files': repeat(9_000, (i) => `rm /x${i};`),
  '100 KB of a here-document': `cat <<E\n${'rm -r /tmp/x "$X"\n'.repeat(5_800)}E`,
  '100 KB of pipes': 'echo x | tr a-z b-za '.repeat(4_900),
}

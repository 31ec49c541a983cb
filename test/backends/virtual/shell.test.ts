import { describe, expect, it } from 'vitest'
import { itInTurn } from '#test/support/long.ts'
import { zip } from '../support/zip.ts'
import { bindings, inWorkspace } from '../support/workspace.ts'

const loader = bindings.LOADER
/** Utilities are tested inline, which starts faster and runs the same code as an isolate. */
const run = async (command: string, loader?: WorkerLoader) => {
  let output = ''
  await inWorkspace({ loader }, async ({ backend }) => {
    const { stdout, stderr, exitCode } = await backend.exec(command, { timeoutMs: 20_000 })
    output = stdout + stderr + (exitCode === 0 ? '' : `exit ${exitCode}`)
  })
  return output
}

describe('a command beyond its limits ends with a message', () => {
  it.each([
    ['an endless loop', 'while true; do :; done', 'too many commands'],
    ['a fork bomb', 'f() { f | f & }; f', 'maximum recursion depth'],
    ['a growing string', 'a=x; while :; do a=$a$a; done', 'string length limit'],
    ['a wide expansion', 'echo {1..9999999}', 'limit exceeded'],
    ['an endless awk', "awk 'BEGIN { while (1) i++ }'", 'maximum iterations'],
    ['endless output', 'while true; do yes aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; done', 'output size'],
  ])('%s', async (_, command, reason) => {
    const output = await run(command, loader)
    expect(output).toContain(reason)
    expect(output).toContain('exit 126')
    expect(output.length).toBeLessThan(600_000)
  })
})

describe('utilities', () => {
  it.each([
    ['seq 3 | xargs -n1 echo got', 'got 1\ngot 2\ngot 3\n'],
    ['printf "a\\nb\\n" | xargs -I{} echo "<{}>"', '<a>\n<b>\n'],
    ['seq 4 | paste -sd+', '1+2+3+4\n'],
    ['seq 4 | paste -d, - -', '1,2\n3,4\n'],
    ['A=1 env B=2 printenv B', '2\n'],
    ['env -i C=3 printenv C', '3\n'],
    ['mkdir d; cd d; realpath ..', '/workspace\n'],
    ['test -f "$(mktemp)" && test -d "$(mktemp -d)" && echo ok', 'ok\n'],
    ['mktemp /tmp/job.XXXX | sed "s/[^.]*$/N/"', '/tmp/job.N\n'],
    ['uname; uname -sm; id -u; id -un; nproc', 'Linux\nLinux x86_64\n1000\nuser\n1\n'],
    ['yes | head -2; yes no | head -1', 'y\ny\nno\n'],
    ['seq 5 | shuf | sort -n | tr "\\n" " "; shuf -n2 -i 1-9 | wc -l', '1 2 3 4 5 2\n'],
    ['printf hello > f; truncate -s 2 f; cat f; truncate -s +1 f; wc -c < f', 'he3\n'],
    ['printf "hi\\n" | xxd', '00000000: 6869 0a                                  hi.\n'],
    ['printf hi | xxd -p; printf 6869 | xxd -r -p', '6869\nhi'],
    ['printf "b\\0a\\0" | sort -z | xxd -p', '61006200\n'],
    ['echo hi > s; install -m 600 s t; stat -c %a t; install -D s x/y/z; cat x/y/z', '600\nhi\n'],
    ['df | tail -1 | awk "{print \\$1}"', 'workspace\n'],
    ['python3 -V', 'bash: python3: command not found\nexit 127'],
    ['kill 5', 'kill: (5) - No such process\nexit 1'],
  ])('%s', async (command, output) => {
    expect(await run(command)).toBe(output)
  })

  it.each([
    ['10/3', '3'],
    ['scale=3; 10/3', '3.333'],
    ['2^10 + 1', '1025'],
    ['-7 % 3', '-1'],
    ['scale=2; 1/3*3', '.99'],
    ['x=5; x*(x-1)', '20'],
    ['0.1+0.2', '.3'],
    ['scale=4; sqrt(2)', '1.4142'],
    ['3 > 2', '1'],
    ['1.50*2', '3.00'],
    ['2^100', '1267650600228229401496703205376'],
  ])('bc: %s is %s', async (expression, value) => {
    expect(await run(`echo '${expression}' | bc`)).toBe(`${value}\n`)
  })

  it('bc reports unsupported syntax', async () => {
    expect(await run('echo "1/0" | bc')).toContain('divide by zero')
    expect(await run('echo "1 +" | bc')).toContain('syntax error')
  })

  it('tar keeps long names, links and modes, and rejects a truncated archive', async () => {
    const name = 'n'.repeat(130)
    const made = `mkdir -p d/${name}; echo x > d/${name}/f; chmod 755 d/${name}/f; ln -s ${name}/f d/l; chmod 750 d; tar czf a.tgz d`
    const output = await run(`${made}; rm -r d; tar xzf a.tgz; readlink d/l; cat d/l; stat -c %a d/${name}/f d`)
    expect(output).toBe(`${name}/f\nx\n755\n750\n`)
    const cut = await run('head -c 3000 /dev/zero > f; tar cf a.tar f; head -c 2000 a.tar > b.tar; tar tf b.tar')
    expect(cut).toContain('tar: The archive cannot be read: Tar archive is truncated.')
    expect(cut).toContain('exit 2')
  })

  it('tar packs the named paths, wherever the archive is written', async () => {
    const made = 'mkdir -p /tmp/d/sub workspace/d/sub; echo right > /tmp/d/sub/f; echo wrong > workspace/d/sub/f; '
    const absolute =
      'mkdir -p d/sub; echo right > d/sub/f; tar cf /tmp/y.tar /workspace/d; mkdir o; tar xf /tmp/y.tar -C o'
    expect(await run(`${made}${absolute}; cat o/workspace/d/sub/f`)).toBe('right\n')
    expect(await run(`${made}tar cf y.tar -C workspace /tmp/d; tar tf y.tar; tar xf y.tar; cat tmp/d/sub/f`)).toBe(
      'tmp/d/\ntmp/d/sub/\ntmp/d/sub/f\nright\n',
    )
    expect(
      await run(`${made}cd workspace; tar cf y.tar ../workspace/d; tar tf y.tar; tar cf z.tar .; tar tf z.tar`),
    ).toBe('workspace/d/\nworkspace/d/sub/\nworkspace/d/sub/f\nd/\nd/sub/\nd/sub/f\ny.tar\n')
  })

  it('cp of a directory copies links as links, also when they form a loop', async () => {
    const made = 'mkdir -p q/d; ln -s . q/self; ln -s nowhere q/none; echo x > q/d/f; ln -s d/f q/l; cp -r q r; '
    expect(await run(`${made} find r | sort; readlink r/self r/none r/l; cat r/l`)).toBe(
      'r\nr/d\nr/d/f\nr/l\nr/none\nr/self\n.\nnowhere\nd/f\nx\n',
    )
    expect(await run(`${made} echo y > q/d/f; rm r/l; ln -s d r/l; cp -r q/. r; readlink r/l; cat r/d/f`)).toBe(
      'd/f\ny\n',
    )
  })

  itInTurn.each([
    [`printf '\\xff' > v; xxd -p v`, 'ff\n'],
    [`printf '\\x89PNG\\r\\n' > v; xxd -p v`, '89504e470d0a\n'],
    [`printf '\\xc3\\xa9\\xff' > v; xxd -p v`, 'c3a9ff\n'],
    [`printf '\\377\\3771é' > v; xxd -p v`, 'ffff31c3a9\n'],
    [`printf '%b|%b' '\\0377' '\\xfe' > v; xxd -p v`, 'ff7cfe\n'],
    [`echo -ne '\\xff\\0200' > v; xxd -p v`, 'ff80\n'],
    [`printf '\\xe9' | xxd -p`, 'e9\n'],
    [`printf '\\xc3\\xa9 %s\\n' '\\xff'; echo '\\xff'; echo -e '\\xc3\\xa9\\t\\\\xff'`, 'é \\xff\n\\xff\né\t\\xff\n'],
    [`printf -v x '\\x41%s' b; echo $x; printf -- '-%d\\n' 3; echo -n; echo`, 'Ab\n-3\n\n'],
  ])('bytes that are no text are written as they are: %s', async (command, output) =>
    expect(await run(command)).toBe(output),
  )

  it('a diff can be applied, reverted and rejected', async () => {
    const prepare = 'seq 9 > a; sed s/5/five/ a > b; diff -u a b > p; '
    expect(await run(`${prepare} patch a p; cmp a b 2>&1 || diff a b; patch -R a p; sed -n 5p a`)).toContain('5\n')
    expect(await run(`${prepare} patch -p0 < p > /dev/null; sed -n 5p b; echo x > a; patch a p`)).toContain('FAILED')
  })
})

describe('git', () => {
  it('works on the same files in the isolate', async () => {
    const begin = 'git init -q; echo one > f; git add f; git commit -q -m first; echo two >> f; '
    expect(await run(`${begin} git status -s; git log --format=%s; git diff | tail -1`, loader)).toBe(
      ' M f\nfirst\n+two\n',
    )
  })

  it('writes the dates of a commit with their zone', async () => {
    const dates = 'export GIT_AUTHOR_DATE="1767225600 -0330" GIT_COMMITTER_DATE="1767225600 +0530"; '
    const begin = 'git init -q; echo one > f; git add f; git commit -q -m first; '
    expect(await run(`${dates}${begin} git log --format="%aI %cI %cs"; git log --date=iso-strict --format=%ad`)).toBe(
      '2025-12-31T20:30:00-03:30 2026-01-01T05:30:00+05:30 2026-01-01\n2025-12-31T20:30:00-03:30\n',
    )
  })

  it.each([
    'git clone https://example.com/x.git',
    'git init -q; git remote add origin https://example.com/x; git fetch',
  ])('says that there is no network: %s', async (command) => {
    const output = await run(command)
    expect(output).toContain('this host has no network')
    expect(output).toContain('exit 128')
  })
})

describe('the isolate', () => {
  it('has no network', async () => {
    expect(await run('curl https://example.com')).toContain('command not found')
  })

  it('is loaded once for all commands of a session', async () => {
    let loads = 0
    const get: WorkerLoader['get'] = (name, code) => {
      const counted = () => {
        loads++
        return code()
      }
      return loader.get(name, counted)
    }
    await inWorkspace({ loader: { get } as WorkerLoader }, async ({ backend }) => {
      for (let i = 0; i < 5; i++) expect((await backend.exec('echo hi', { timeoutMs: 20_000 })).stdout).toBe('hi\n')
    })
    expect(loads).toBe(1)
  })

  it('writes nothing after the caller has aborted', () =>
    inWorkspace({ loader }, async ({ backend }) => {
      const giveUp = AbortSignal.timeout(100)
      await backend.exec('for i in $(seq 2000); do echo $i > f$i; sleep 0.01; done', {
        timeoutMs: 20_000,
        signal: giveUp,
      })
      const count = (await backend.files.list('/workspace')).length
      // Another loop of this kind writes meanwhile.
      await backend.exec('for i in $(seq 10); do echo $i > /tmp/f$i; sleep 0.01; done', { timeoutMs: 20_000 })
      expect((await backend.files.list('/workspace')).length).toBe(count)
      expect(count).toBeLessThan(2000)
    }))
})

describe('date -d', () => {
  const day = 86_400
  const midnight = Math.floor(Date.now() / 1000 / day) * day
  /** 1970-01-01 was a Thursday. */
  const today = (midnight / day + 4) % 7
  const untilFriday = (5 - today + 7) % 7

  it.each([
    ['friday', untilFriday],
    ['this Fri', untilFriday],
    ['last friday', untilFriday - 7],
    ['next friday', untilFriday || 7],
    ['last friday +2 days', untilFriday - 5],
  ])('finds a weekday as GNU does: %s', async (text, days) => {
    expect(await run(`date -u -d '${text}' +%s`)).toBe(`${midnight + days * day}\n`)
  })

  it.each([
    'last fryday',
    'sometime',
    'noonish tomorrow',
    '2026-13-45',
    'friday the 13th',
    '2025-02-30',
    '2025-02-29 +1 day',
    '2025-04-31 10:00',
    '31 June 2025',
    'Feb 30, 2025',
    '30-Feb-2025',
    '2/30/2025',
  ])('says that it does not understand %s', async (text) => {
    expect(await run(`date -d '${text}' +%s`)).toBe(`date: invalid date '${text}'\nexit 1`)
    expect(await run(`date --date='${text}'`)).toContain('invalid date')
  })

  it.each([
    ['2026-03-01', '2026-03-01'],
    ['2026-03-01 +1 month', '2026-04-01'],
    ['2026-03-01 12:30', '2026-03-01'],
    ['@86400', '1970-01-02'],
    ['Mar 1 2026', '2026-03-01'],
    ['2024-02-29', '2024-02-29'],
    ['29 Feb 2024', '2024-02-29'],
    ['2/29/2024', '2024-02-29'],
    ['2026-01-31 +1 day', '2026-02-01'],
  ])('still understands %s', async (text, expected) => {
    expect(await run(`date -u -d '${text}' +%F`)).toBe(`${expected}\n`)
  })
})

it.each([
  ['"2015-03-05T23:51:47Z"', 'fromdateiso8601', '1425599507'],
  ['1425599621', 'todateiso8601', '"2015-03-05T23:53:41Z"'],
  ['1425599621', 'dateadd("seconds"; 10) | todate', '"2015-03-05T23:53:51Z"'],
  ['1425599621', 'datesub("seconds"; 21)', '1425599600'],
  ['1425599621', 'localtime | mktime', '1425599621'],
  ['1425599621', 'strflocaltime("%H:%M %Z")', '"23:53 UTC"'],
  ['{"date":1}', '.date', '1'],
])('jq knows dates: %s | %s', async (input, program, expected) => {
  expect(await run(`echo '${input}' | jq --arg x y '${program}'`)).toBe(`${expected}\n`)
})

it('umask says what the mask is, and refuses another one', async () => {
  expect(await run('umask; umask -S; umask 022 && echo ok; umask 077')).toBe(
    '0022\nu=rwx,g=rx,o=rx\nok\numask: 077: the mask is always 0022 here. Set modes with chmod.\nexit 1',
  )
})

describe('archives and encodings', () => {
  const runWith = async (files: Readonly<Record<string, Uint8Array>>, command: string) => {
    let output = ''
    await inWorkspace({}, async ({ backend }) => {
      for (const [path, bytes] of Object.entries(files)) await backend.files.write(`/workspace/${path}`, bytes)
      const { stdout, stderr, exitCode } = await backend.exec(command, { timeoutMs: 20_000 })
      output = stdout + stderr + (exitCode === 0 ? '' : `exit ${exitCode}`)
    })
    return output
  }
  /** Where the entries of the directory begin. */
  const listEntries = (archive: Uint8Array) =>
    [...archive.keys()].filter((n) => String.fromCharCode(...archive.subarray(n, n + 4)) === 'PK\x01\x02')
  const files = { 'a.txt': 'one\n', 'd/': '', 'd/b.txt!': 'two\n' }

  it.each([
    ['unzip -q a.zip; cat a.txt d/b.txt', 'one\ntwo\n'],
    ['unzip -qd x a.zip; ls -R x | tr "\\n" " "', 'x: a.txt d  x/d: b.txt '],
    ['unzip -p a a.txt', 'one\n'],
    ['unzip -qj a.zip "*.txt" -x a.txt; cat b.txt; ls', 'two\na.zip\nb.txt\n'],
    ['unzip -l a.zip | tail -1', '        8                     3 files\n'],
    ['unzip -t a.zip | tail -1', 'No errors detected in compressed data of a.zip.\n'],
    [
      'echo mine > a.txt; unzip -q a.zip; cat a.txt',
      'mine\nunzip: a.txt exists already: -o replaces it, -n keeps it\n',
    ],
    ['echo mine > a.txt; unzip -qo a.zip; cat a.txt', 'one\n'],
    ['unzip a.zip nothing', 'Archive:  a.zip\nunzip: filename not matched:  nothing\nexit 11'],
    ['unzip none', 'unzip: cannot find or open none, none.zip\nexit 9'],
    ['echo text > b.zip; unzip b.zip', 'unzip: b.zip is not a zip archive, or only a part of one\nexit 9'],
  ])('%s', async (command, output) => {
    expect(await runWith({ 'a.zip': await zip(files) }, command)).toBe(output)
  })

  it('unzip writes nothing outside of its folder, and stops at a bomb, damage and a password', async () => {
    const evil = await runWith({ 'e.zip': await zip({ '../../evil.txt': 'x', 'ok.txt': 'y' }) }, 'unzip -q e.zip; ls')
    expect(evil).toBe('e.zip\nok.txt\nunzip: ../../evil.txt leads out of the directory, and was left out\n')
    const large = await zip({ a: 'a', b: 'b' })
    for (const at of listEntries(large)) new DataView(large.buffer).setUint32(at + 24, 40_000_000, true)
    const bomb = await runWith({ 'b.zip': large }, 'unzip -q b.zip')
    expect(bomb).toBe('unzip: the archive unpacks to more than 64 MiB\nexit 5')
    const damaged = await zip({ 'a.txt!': 'hello' })
    damaged[36] = 0x58
    expect(await runWith({ 'd.zip': damaged }, 'unzip -q d.zip')).toBe('unzip: a.txt  is damaged (bad CRC)\nexit 1')
    const locked = await zip({ 'a.txt': 'hello' })
    for (const at of listEntries(locked)) locked[at + 8] = 1
    expect(await runWith({ 'l.zip': locked }, 'unzip -q l.zip')).toMatch(/needs a password.*exit 82/s)
  })

  itInTurn.each([
    ['printf "\\202\\240" | iconv -f SJIS', 'あ'],
    ['printf "港" | iconv -t shift_jis | xxd -p', '8d60\n'],
    ['printf "ä" | iconv -t latin1 | xxd -p', 'e4\n'],
    ['printf "ä" | iconv -t UTF-16 | xxd -p', 'fffee400\n'],
    ['printf "aäb" | iconv -t ascii//TRANSLIT', 'a?b'],
    ['printf "aäb" | iconv -c -t ascii', 'ab'],
    ['printf "ä" | iconv -t ascii', 'iconv: cannot convert ä to ascii\nexit 1'],
    ['printf "\\377" | iconv -f utf-8', 'iconv: the input is not valid utf-8: -c leaves out what is not\nexit 1'],
    ['printf x | iconv -f nope', 'iconv: conversion from nope is not supported\nexit 1'],
  ])('%s', async (command, output) => {
    expect(await run(command)).toBe(output)
  })
})

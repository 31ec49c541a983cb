/** Tests the names of skills and the paths of their files with hostile ones. */

import { describe, expect, it } from 'vitest'
import { explainBadSkillName, explainBadSkillPath, explainUnwritablePath } from '#agent/skills/skill-names.ts'

describe('a name', () => {
  it.each(['a', 'photo-tools', 'v1.2_x', '7z', 'a'.repeat(64)])('may be %s', (name) => {
    expect(explainBadSkillName(name)).toBeUndefined()
  })

  it.each(['', '..', '.hidden', '-a', 'A', 'a/b', 'a\\b', 'a b', 'a..b', 'ä', 'a\n', 'a'.repeat(65)])(
    'may not be %j',
    (name) => {
      expect(explainBadSkillName(name)).toBeTypeOf('string')
    },
  )
})

describe('a path', () => {
  it.each(['SKILL.md', 'LICENSE.txt', 'references/a.md', 'scripts/lib/x.py'])('may be %s', (path) => {
    expect(explainBadSkillPath(path)).toBeUndefined()
  })

  it.each([
    '',
    '/etc/passwd',
    '../other/SKILL.md',
    'references/../../x',
    'a//b',
    'a/./b',
    '.git/config',
    'scripts/.env',
    'a\\b',
    'C:x',
    'skill.md',
    'references/a\u202Eb.md',
    'a\nb',
    'e\u0301.md',
    'a/'.repeat(7),
    'x'.repeat(201),
  ])('may not be %j', (path) => {
    expect(explainBadSkillPath(path)).toBeTypeOf('string')
    expect(explainUnwritablePath(path)).toBeTypeOf('string')
  })

  it('is written by the model only below the known folders', () => {
    expect(['references/a.md', 'scripts/a.sh', 'templates/a', 'assets/a'].map(explainUnwritablePath)).toEqual(
      Array.from({ length: 4 }),
    )
    for (const path of ['SKILL.md', 'notes.md', 'other/a.md', 'scripts'])
      expect(explainUnwritablePath(path)).toContain('Write files below')
  })
})

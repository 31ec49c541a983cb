/** Tests the parser of SKILL.md with the fields of agentskills.io and Hermes, and its errors. */

import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { maxSkillChars, parseSkill } from '#agent/skills/parse-skill.ts'

const parseYaml = (text: string): unknown => parse(text)
const skill = (head: string, body = '\n# Steps\n') => `---\n${head}\n---\n${body}`
const headOf = (content: string) => {
  const parsed = parseSkill(content, parseYaml)
  if (!parsed.ok) throw new Error(parsed.error)
  return parsed.head
}
const errorOf = (content: string) => {
  const parsed = parseSkill(content, parseYaml)
  return parsed.ok ? undefined : parsed.error
}

describe('the front matter', () => {
  it('has the fields of Hermes', () => {
    const head = headOf(
      skill(`name: photo-tools
description: Sort photos.
version: 1.10
license: MIT
platforms: [macos, Linux]
metadata:
  hermes:
    category: Media
    tags: [a, b]
    related_skills: [other]
    requires_toolsets: [terminal]
    fallback_for_tools: web_search
    config:
      - key: photos.folder
        description: Where they are
        default: photos
required_environment_variables:
  - name: PHOTO_TOKEN
    prompt: Your token
    help: See the page
  - OTHER_TOKEN
required_credential_files:
  - path: token.json
  - b.json`),
    )
    expect(head).toEqual({
      name: 'photo-tools',
      description: 'Sort photos.',
      version: '1.1',
      license: 'MIT',
      category: 'media',
      platforms: ['macos', 'linux'],
      tags: ['a', 'b'],
      relatedSkills: ['other'],
      requires: { toolsets: ['terminal'], tools: [] },
      fallbackFor: { toolsets: [], tools: ['web_search'] },
      config: [{ key: 'photos.folder', description: 'Where they are', default: 'photos' }],
      variables: [{ name: 'PHOTO_TOKEN', prompt: 'Your token', help: 'See the page' }, { name: 'OTHER_TOKEN' }],
      credentialFiles: ['token.json', 'b.json'],
    })
  })

  it.each([
    ['unknown fields', 'allowed-tools: Bash\nuser-invocable: true'],
    ['metadata of others', 'metadata:\n  author: me\n  hermes: 7'],
    ['wrong types in optional fields', 'platforms: 3\ntags: {}\nversion: [1]'],
  ])('may have %s', (_, more) => {
    expect(headOf(skill(`name: a\ndescription: b\n${more}`))).toMatchObject({ name: 'a', category: 'general' })
  })

  it('may have a description with a colon and without quotes', () => {
    const head = headOf(skill('name: a\ndescription: Use it for: tables, "texts" and more'))
    expect(head.description).toBe('Use it for: tables, "texts" and more')
  })

  it.each([
    [
      'a colon in its second line',
      'Answers questions\n  about water: tides, gauges',
      'Answers questions about water: tides, gauges',
    ],
    ['a colon below its key', '\n  Use for: tables\n  and lists', 'Use for: tables and lists'],
    ['text behind a quoted word', '"Quick" help: now', '"Quick" help: now'],
    ['brackets before the text', '[Beta] Sorts: photos', '[Beta] Sorts: photos'],
    ['a star at its beginning', '*Fast* sort', '*Fast* sort'],
    // These are valid YAML.
    ['quotes', '"a: b"', 'a: b'],
    ['a block', '|\n  a: b\n  c', 'a: b\nc'],
    ['a folded block', '>-\n  a: b\n  c', 'a: b c'],
    ['two lines', 'one\n  two', 'one two'],
  ])('may have a description with %s', (_name, value, expected) => {
    const head = headOf(skill(`name: a\ndescription: ${value}\nmetadata:\n  hermes:\n    tags: [x]`))
    expect([head.description, head.tags]).toEqual([expected, ['x']])
  })

  it.each([
    ['blanks behind its lines', '---   \nname: a\ndescription: b\n---\t \n# Body\n'],
    ['empty lines before it', '\n\n---\nname: a\ndescription: b\n---\n# Body\n'],
    ['a longer line in it', '---\nname: a\ndescription: b\n# ----\n---\n# Body\n'],
    ['dots at its end', '---\nname: a\ndescription: b...\n...\n# Body\n'],
    ['line ends of the first Macs', '---\rname: a\rdescription: b\r---\r# Body\r'],
  ])('may have %s', (_name, content) => {
    expect(parseSkill(content, parseYaml)).toMatchObject({ ok: true, head: { name: 'a' }, body: '# Body\n' })
  })

  it('ends at the first line of dashes alone: a rule in the body stays', () => {
    const content = '---\nname: a\ndescription: b\n---\none\n\n---\n\ntwo\n'
    expect(parseSkill(content, parseYaml)).toMatchObject({ body: 'one\n\n---\n\ntwo\n' })
  })

  it('may have Windows line ends and a byte order mark', () => {
    expect(headOf(`\uFEFF${skill('name: a\ndescription: b').replaceAll('\n', '\r\n')}`).name).toBe('a')
  })
})

describe('the error', () => {
  it.each([
    ['no front matter', '# Hello', 'must begin with front matter'],
    ['an open front matter', '---\nname: a', 'must begin with front matter'],
    ['a longer line of dashes', '---\nname: a\n-----\nx', 'must begin with front matter'],
    ['a list instead of fields', skill('- a'), 'must begin with front matter'],
    ['no description', skill('name: a'), 'needs a description of 1 to 1024'],
    ['an empty description', skill('name: a\ndescription: " "'), 'needs a description'],
    ['a long description', skill(`name: a\ndescription: ${'x'.repeat(1_025)}`), 'needs a description'],
    ['a name with capitals', skill('name: Photo\ndescription: b'), 'small letters'],
    ['a name that leaves its folder', skill('name: ../a\ndescription: b'), 'small letters'],
    ['a name with two dots', skill('name: a..b\ndescription: b'), 'small letters'],
    ['a long name', skill(`name: ${'a'.repeat(65)}\ndescription: b`), 'at most 64'],
    ['no instructions', skill('name: a\ndescription: b', ' \n'), 'no instructions'],
    ['broken YAML', skill('name: [a\ndescription: b'), 'not valid YAML'],
    ['too many characters', skill('name: a\ndescription: b', 'x'.repeat(maxSkillChars)), 'at most 100000'],
  ])('names %s', (_, content, error) => {
    expect(errorOf(content)).toContain(error)
  })
})

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

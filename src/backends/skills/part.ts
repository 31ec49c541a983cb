/** Exports what skills need beside the core: a YAML parser, and the import. */

import { type ParsedSkill, parseSkill } from '#agent/skills/parse-skill.ts'
import { parseYaml } from './parse-yaml.ts'

export { importSkill } from './import/import-skill.ts'
export { searchSources } from './import/search-sources.ts'

export const parseSkillFile = (content: string): ParsedSkill => parseSkill(content, parseYaml)

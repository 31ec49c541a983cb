/** Lists all built-in tools. Written by `npm run tools`. A test compares it with the folder. */

import type { Tool } from '../agent/model/tool.ts'
import clarify from './clarify/clarify.tool.ts'
import executeCode from './code/execute-code.tool.ts'
import cronjob from './cronjob/cronjob.tool.ts'
import delegateTask from './delegate/delegate-task.tool.ts'
import patch from './file/patch.tool.ts'
import readFile from './file/read-file.tool.ts'
import searchFiles from './file/search-files.tool.ts'
import writeFile from './file/write-file.tool.ts'
import memory from './memory/memory.tool.ts'
import sessionSearch from './session-search/session-search.tool.ts'
import skillManage from './skills/skill-manage.tool.ts'
import skillView from './skills/skill-view.tool.ts'
import skillsList from './skills/skills-list.tool.ts'
import process from './terminal/process.tool.ts'
import terminal from './terminal/terminal.tool.ts'
import todo from './todo/todo.tool.ts'

export const tools: readonly Tool[] = [
  clarify,
  executeCode,
  cronjob,
  delegateTask,
  patch,
  readFile,
  searchFiles,
  writeFile,
  memory,
  sessionSearch,
  skillManage,
  skillView,
  skillsList,
  process,
  terminal,
  todo,
]

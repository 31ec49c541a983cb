/** Lists all built-in tools. Written by `npm run tools`. A test compares it with the folder. */

import type { Tool } from '#agent/core/tool.ts'
import browserBack from './browser/browser-back.tool.ts'
import browserCdp from './browser/browser-cdp.tool.ts'
import browserClick from './browser/browser-click.tool.ts'
import browserConsole from './browser/browser-console.tool.ts'
import browserDialog from './browser/browser-dialog.tool.ts'
import browserFill from './browser/browser-fill.tool.ts'
import browserGetImages from './browser/browser-get-images.tool.ts'
import browserNavigate from './browser/browser-navigate.tool.ts'
import browserPdf from './browser/browser-pdf.tool.ts'
import browserPress from './browser/browser-press.tool.ts'
import browserScroll from './browser/browser-scroll.tool.ts'
import browserSnapshot from './browser/browser-snapshot.tool.ts'
import browserTabs from './browser/browser-tabs.tool.ts'
import browserType from './browser/browser-type.tool.ts'
import browserUpload from './browser/browser-upload.tool.ts'
import browserVision from './browser/browser-vision.tool.ts'
import requestHandoff from './browser/request-handoff.tool.ts'
import checkpoint from './checkpoints/checkpoint.tool.ts'
import restore from './checkpoints/restore.tool.ts'
import clarify from './clarify.tool.ts'
import executeCode from './code/execute-code.tool.ts'
import cronjob from './cronjob.tool.ts'
import delegateTask from './delegate-task.tool.ts'
import makeDocument from './file/documents/make-document.tool.ts'
import patch from './file/patch.tool.ts'
import readFile from './file/read-file.tool.ts'
import searchFiles from './file/search-files.tool.ts'
import writeFile from './file/write-file.tool.ts'
import learning from './learning.tool.ts'
import imageGenerate from './media/image-generate.tool.ts'
import textToSpeech from './media/text-to-speech.tool.ts'
import videoGenerate from './media/video-generate.tool.ts'
import videoAnalyze from './media/video-analyze.tool.ts'
import visionAnalyze from './media/vision-analyze.tool.ts'
import memory from './memory.tool.ts'
import sessionSearch from './session-search.tool.ts'
import sessionsList from './sessions/sessions-list.tool.ts'
import sessionsSend from './sessions/sessions-send.tool.ts'
import skillManage from './skills/skill-manage.tool.ts'
import skillView from './skills/skill-view.tool.ts'
import skillsList from './skills/skills-list.tool.ts'
import process from './terminal/process.tool.ts'
import terminal from './terminal/terminal.tool.ts'
import todo from './todo.tool.ts'
import webExtract from './web/web-extract.tool.ts'
import webSearch from './web/web-search.tool.ts'

export const tools: readonly Tool[] = [
  browserBack,
  browserCdp,
  browserClick,
  browserConsole,
  browserDialog,
  browserFill,
  browserGetImages,
  browserNavigate,
  browserPdf,
  browserPress,
  browserScroll,
  browserSnapshot,
  browserTabs,
  browserType,
  browserUpload,
  browserVision,
  requestHandoff,
  checkpoint,
  restore,
  clarify,
  executeCode,
  cronjob,
  delegateTask,
  makeDocument,
  patch,
  readFile,
  searchFiles,
  writeFile,
  learning,
  imageGenerate,
  textToSpeech,
  videoGenerate,
  videoAnalyze,
  visionAnalyze,
  memory,
  sessionSearch,
  sessionsList,
  sessionsSend,
  skillManage,
  skillView,
  skillsList,
  process,
  terminal,
  todo,
  webExtract,
  webSearch,
]

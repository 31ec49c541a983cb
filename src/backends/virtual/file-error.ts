/** Defines the error of a file operation: errno, sentence and path, as a shell prints them. */

const sentences = {
  EEXIST: 'file already exists',
  EFBIG: 'file too large',
  EINTR: 'interrupted',
  EINVAL: 'invalid argument',
  EIO: 'stored content is missing',
  EISDIR: 'illegal operation on a directory',
  ELOOP: 'too many levels of symbolic links',
  ENOENT: 'no such file or directory',
  ENOSPC: 'no space left in the workspace',
  ENOTDIR: 'not a directory',
  ENOTEMPTY: 'directory not empty',
  EROFS: 'read-only file system',
} as const

export type Errno = keyof typeof sentences

export class FileError extends Error {
  readonly code: Errno
  constructor(code: Errno, operation: string, path: string) {
    super(`${code}: ${sentences[code]}, ${operation} '${path}'`)
    this.name = 'FileError'
    this.code = code
  }
}

// Defines the error that clients see. All other errors are bugs: they are logged, and the client gets a 500.

const statuses = {
  invalid: 400,
  unauthorized: 401,
  outside: 403,
  missing: 404,
  conflict: 409,
  too_large: 413,
  busy: 429,
  unsupported: 501,
  unavailable: 503,
  quota: 507,
}

export class ProtocolError extends Error {
  constructor(code, message, hint = '') {
    super(message)
    this.code = code
    this.status = statuses[code]
    this.hint = hint
  }
}

/** Converts errors of the file system to protocol errors; others are returned unchanged. */
export function fromFileSystemError(error, path) {
  const known = {
    ENOENT: ['missing', `No such file or directory: ${path}`],
    ENOTDIR: ['invalid', `A part of the path is not a directory: ${path}`],
    EISDIR: ['invalid', `This is a directory: ${path}`],
    ENOTEMPTY: ['invalid', `The directory is not empty: ${path}`],
    EEXIST: ['invalid', `This exists already: ${path}`],
    EINVAL: ['invalid', `Invalid operation for ${path}`],
    ELOOP: ['invalid', `Too many links, or a link that is not allowed here: ${path}`],
    ENAMETOOLONG: ['invalid', 'The path is too long'],
    EACCES: ['invalid', `Permission denied: ${path}`],
    EPERM: ['invalid', `Not permitted: ${path}`],
    ENXIO: ['invalid', `This is not a regular file: ${path}`],
    ENOSPC: ['quota', 'The disk is full', 'Remove files that are not needed.'],
    EDQUOT: ['quota', 'The disk is full', 'Remove files that are not needed.'],
  }[error?.code]
  return known ? new ProtocolError(...known) : error
}

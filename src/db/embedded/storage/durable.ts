import * as fs from 'node:fs'
import { NodeFS } from '@electric-sql/pglite/nodefs'
import type { OpenFiles } from './open-files.ts'

interface FsyncEvents {
  synced(): void
  failed(reason: string): void
}

/** The parts of Emscripten's file system that are patched or used here. */
interface FsNode {
  name: string
}
interface FsStream {
  nfd?: number
  node: FsNode
  /** Shared between streams made by dup. */
  shared: { refcount: number }
}
interface Nodefs {
  realPath(node: FsNode): string
  tryFSOperation<T>(operation: () => T): T
  stream_ops: {
    open(stream: FsStream): void
    close(stream: FsStream): void
    fsync?(stream: FsStream): number
    setattr(stream: FsStream, attributes: { mode?: number }): void
  }
  node_ops: {
    rename(node: FsNode, directory: FsNode, name: string): void
    setattr(node: FsNode, attributes: { mode?: number }): void
  }
}
interface EmscriptenFs {
  filesystems: { NODEFS: Nodefs }
  lookupNode(directory: FsNode, name: string): FsNode
  destroyNode(node: FsNode): void
}

/**
 * PGlite's directory backend, made safe against power loss and other users. Upstream, fsync does nothing, rename
 * removes the target first, and files can be readable by everyone.
 */
export class DurableFs extends NodeFS {
  readonly #events: FsyncEvents
  readonly #files: OpenFiles

  constructor(dir: string, events: FsyncEvents, files: OpenFiles) {
    super(dir)
    this.#events = events
    this.#files = files
  }

  override async init(...[pg, options]: Parameters<NodeFS['init']>) {
    const amended = await super.init(pg, options)
    amended.emscriptenOpts.preRun?.push((module) => {
      const emscripten = module.FS as typeof module.FS & EmscriptenFs
      this.#patch(emscripten)
      this.#track(emscripten.filesystems.NODEFS)
    })
    return amended
  }

  #patch(emscripten: EmscriptenFs): void {
    const nodefs = emscripten.filesystems.NODEFS
    nodefs.stream_ops.fsync = (stream) => {
      nodefs.tryFSOperation(() => this.#fsync(stream.nfd, () => nodefs.realPath(stream.node)))
      return 0
    }
    nodefs.node_ops.rename = (node, directory, name) => {
      const from = nodefs.realPath(node)
      const to = `${nodefs.realPath(directory)}/${name}`
      let replaced: FsNode | undefined
      try {
        replaced = emscripten.lookupNode(directory, name)
      } catch {
        // no target to replace
      }
      nodefs.tryFSOperation(() => fs.renameSync(from, to))
      // Otherwise Emscripten would still list the replaced file after the new one is deleted.
      if (replaced) emscripten.destroyNode(replaced)
      node.name = name
    }
    for (const ops of [nodefs.stream_ops, nodefs.node_ops] as Nodefs['node_ops'][]) {
      const setattr = ops.setattr
      ops.setattr = (target, attributes) =>
        setattr(target, attributes.mode === undefined ? attributes : { ...attributes, mode: attributes.mode & ~0o077 })
    }
  }

  #track({ stream_ops: ops }: Nodefs): void {
    const { open, close } = ops
    ops.open = (stream) => {
      open(stream)
      if (stream.nfd !== undefined) this.#files.markOpen(stream.nfd)
    }
    ops.close = (stream) => {
      if (stream.nfd !== undefined && stream.shared.refcount === 1) this.#files.markClosed(stream.nfd)
      close(stream)
    }
  }

  #fsync(fd: number | undefined, path: () => string): void {
    try {
      if (fd !== undefined) fs.fsyncSync(fd)
      else syncDirectory(path())
    } catch (error) {
      // EBADF and EINVAL mean that it cannot be synced, such as directories on some file systems. Postgres handles
      // those.
      if (!['EBADF', 'EINVAL'].includes((error as { code?: string }).code ?? '')) {
        this.#events.failed(`fsync of ${path()}: ${(error as Error).message}`)
      }
      throw error
    }
    this.#events.synced()
  }
}

function syncDirectory(path: string): void {
  const fd = fs.openSync(path, 'r')
  try {
    fs.fsyncSync(fd)
  } finally {
    fs.closeSync(fd)
  }
}

import { constants } from 'node:fs'
import { copyFile, mkdir, open, readdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'

/** Parallel calls let the file system combine them into few journal commits. */
const parallel = 16

/** Syncs all files and directories below root, and root itself, but not root's entry in its parent. */
export async function syncTree(root: string): Promise<void> {
  const { files, directories } = await list(root)
  await each(files, (path) => sync(join(root, path), 'r+'))
  await each(directories, (path) => syncDirectory(join(root, path)))
}

/** Makes renames and new names in a directory permanent. Windows has no such call. */
export async function syncDirectory(path: string): Promise<void> {
  if (process.platform !== 'win32') await sync(path, 'r')
}

/**
 * Syncs a directory that may have been created with all its parents, up to the first one with another owner, which
 * existed before.
 */
export async function syncAncestors(path: string): Promise<void> {
  for (let parent = dirname(path); parent !== path; parent = dirname(path)) {
    await syncDirectory(parent).catch(() => undefined)
    path = parent
  }
}

async function sync(path: string, flags: 'r' | 'r+'): Promise<void> {
  const handle = await open(path, flags)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

export async function copyTree(from: string, to: string, skip: (path: string) => boolean): Promise<void> {
  const { files, directories } = await list(from)
  for (const path of directories) await mkdir(join(to, path), { recursive: true, mode: 0o700 })
  await each(
    files.filter((path) => !skip(path)),
    (path) => copyFile(join(from, path), join(to, path), constants.COPYFILE_FICLONE),
  )
}

/** Returns paths below root, parents first; '' is root itself. */
async function list(root: string): Promise<{ files: string[]; directories: string[] }> {
  const files: string[] = []
  const directories = ['']
  for (const directory of directories) {
    for (const entry of await readdir(join(root, directory), { withFileTypes: true })) {
      ;(entry.isDirectory() ? directories : files).push(join(directory, entry.name))
    }
  }
  return { files, directories }
}

async function each<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  let next = 0
  const lane = async () => {
    while (next < items.length) await work(items[next++] as T)
  }
  await Promise.all(Array.from({ length: parallel }, lane))
}

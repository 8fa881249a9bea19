/**
 * Where a Worker's code is: `path` from the root of the repository. In the binary it is a file of its own there; from
 * source it is the module.
 */
export function workerUrl(path: string): string {
  const root = /^file:\/\/.*?(?:\$bunfs|~BUN)\/root\//.exec(import.meta.url)?.[0]
  return root ? root + path.replace(/\.ts$/, '.js') : new URL(`../${path}`, import.meta.url).href
}

/** Creates the SBOM (CycloneDX 1.6) from the installed packages. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

interface Manifest {
  name: string
  version: string
  license?: string
  description?: string
  packageManager?: string
  dependencies?: Record<string, string>
  peerDependencies?: Record<string, string>
  peerDependenciesMeta?: Record<string, { optional?: boolean }>
}

const read = (path: string): Manifest => JSON.parse(readFileSync(path, 'utf8')) as Manifest

const component = ({ name, version, license, description }: Manifest) => ({
  type: 'library',
  name,
  version,
  purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
  ...(description && { description }),
  ...(license && {
    licenses: [/\s(OR|AND)\s/.test(license) ? { expression: license } : { license: { id: license } }],
  }),
})

/** The model for search by meaning, whose weights are in the repository. */
function modelComponent(root: string): object {
  const [sha256, file] = readFileSync(join(root, 'models/SHA256SUMS'), 'utf8').trim().split(/\s+/)
  return {
    type: 'machine-learning-model',
    name: 'all-MiniLM-L6-v2',
    description: `Sentence embeddings, weights of 8 bits (models/${file})`,
    hashes: [{ alg: 'SHA-256', content: sha256 }],
    licenses: [{ license: { id: 'Apache-2.0' } }],
  }
}

export function createSbom(root: string): object {
  const own = read(join(root, 'package.json'))
  const found = new Map<string, Manifest>()
  const visit = (name: string, from: string): void => {
    const nested = join(from, 'node_modules', name)
    const folder = existsSync(join(nested, 'package.json')) ? nested : join(root, 'node_modules', name)
    if (!existsSync(join(folder, 'package.json'))) return
    const manifest = read(join(folder, 'package.json'))
    const key = `${manifest.name}@${manifest.version}`
    if (found.has(key)) return
    found.set(key, manifest)
    const peers = Object.keys(manifest.peerDependencies ?? {}).filter(
      (p) => !manifest.peerDependenciesMeta?.[p]?.optional && !p.startsWith('@types/') && p !== 'typescript',
    )
    for (const dependency of [...Object.keys(manifest.dependencies ?? {}), ...peers]) visit(dependency, folder)
  }
  for (const name of Object.keys(own.dependencies ?? {})) visit(name, root)
  const [, bun] = (own.packageManager ?? '').split('@')
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      component: {
        type: 'application',
        name: own.name,
        version: own.version,
        licenses: [{ license: { id: own.license } }],
      },
    },
    components: [
      component({
        name: 'bun',
        version: bun ?? '',
        license: 'MIT',
        description: 'JavaScript runtime the binary is compiled with',
      }),
      modelComponent(root),
      ...[...found.values()].sort((a, b) => a.name.localeCompare(b.name)).map(component),
    ],
  }
}

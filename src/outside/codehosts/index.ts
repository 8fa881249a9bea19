import { gitea } from './gitea.ts'
import { github } from './github.ts'
import { gitlab } from './gitlab.ts'
import type { HostProvider } from './host.ts'
import type { CodeHost } from './schema.ts'

export const hostProviders: Record<CodeHost, HostProvider> = { github, gitea, gitlab }

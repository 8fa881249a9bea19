import type { Provider } from '../../features/repositories/schema.ts'
import { gitea } from './gitea.ts'
import { github } from './github.ts'
import { gitlab } from './gitlab.ts'
import type { HostProvider } from './host.ts'

export const hostProviders: Record<Provider, HostProvider> = { github, gitea, gitlab }

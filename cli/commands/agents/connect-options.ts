import type { ServerChoice } from '../../api/profiles.ts'

/** The options of `tutti connect`. */
export interface ConnectOptions extends ServerChoice {
  print?: boolean
  stdio?: boolean
  token?: boolean
  hooks: boolean
  project?: string
  /** The only projects that the agent may see. */
  only?: string[]
  expires?: string
  toolsets?: string
  tunnel?: string
  yes?: boolean
  json?: boolean
}

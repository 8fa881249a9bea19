import { type Config, loadConfig } from '../src/config.ts'

export interface CommonOptions {
  dataDir?: string
  config?: string
  host?: string
  port?: string
}

export const settingsOf = ({ dataDir, config, host, port }: CommonOptions): Config =>
  loadConfig({ file: config, options: { DATA_DIR: dataDir, HOST: host, PORT: port } })

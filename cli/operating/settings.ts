import { type Config, loadConfig } from '../../src/config.ts'
import { hasDatabase } from '../../src/db/index.ts'
import { Refusal } from '../terminal/refusal.ts'

export interface CommonOptions {
  dataDir?: string
  config?: string
  host?: string
  port?: string
}

export const loadSettings = ({ dataDir, config, host, port }: CommonOptions): Config =>
  loadConfig({ file: config, options: { DATA_DIR: dataDir, HOST: host, PORT: port } })

/** Refuses a data folder without a database: a mistyped path must not become a new installation. */
export function requireDatabase(config: Config): void {
  if (!hasDatabase(config))
    throw new Refusal(`No database in ${config.DATA_DIR}. Set the data folder with --data-dir.`, 4)
}

/** Installs the programs of others that the tests in this folder run, one after the other. */
import { installPeers } from '../agents/peers/install.ts'
import { install } from './install.ts'

await install()
await installPeers()

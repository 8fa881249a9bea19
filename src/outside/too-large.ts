import { AppError } from '../errors.ts'

/** A host sent more than is read of one response, so that asking for less may succeed. */
export class TooLarge extends AppError {
  constructor(host: string, bytes: number) {
    super('upstream_failed', `${host} sent more than ${bytes} bytes.`)
  }
}

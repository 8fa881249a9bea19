import { array, id, object, optional, type Static } from '../../schema.ts'

/** Who gets it: everybody when neither is given. */
export const Audience = object({ userIds: optional(array(id(), 1000)), organizationId: optional(id()) })
export type Audience = Static<typeof Audience>

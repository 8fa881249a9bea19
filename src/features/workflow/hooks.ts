import { hook } from '../../hooks.ts'
import type { FeatureDetail } from './schema.ts'

/** Returns the pull requests that were opened for a feature. */
export const featurePullRequests = hook<{ featureId: string }, FeatureDetail['pullRequests']>('workflow.pullRequests')

import { type Http, on } from '../../http/context.ts'
import * as answers from './answer.ts'
import * as finding from './find.ts'
import { Answer, FindQuery, FoundGroups, Question, Suggestions, SuggestQuery } from './schema.ts'
import * as suggestions from './suggest.ts'

const AI_BODY = 256 << 10

export const searchRoutes = (http: Http) =>
  http
    .get('/api/search', ({ ctx, query }) => finding.searchRecords(ctx, query), {
      ...on(finding.searchRecords, 'Search everything you may see'),
      query: FindQuery,
      response: FoundGroups,
    })
    .get('/api/search/suggestions', ({ ctx, query }) => suggestions.suggest(ctx, query), {
      ...on(suggestions.suggest, 'Suggest titles that match what is being typed'),
      query: SuggestQuery,
      response: Suggestions,
    })
    .post('/api/search/ai', ({ ctx, body }) => answers.answer(ctx, body), {
      ...on(answers.answer, 'Ask a question: returns sources, and an answer if a chat model is set up', {
        maxBody: AI_BODY,
        stoppable: true,
      }),
      body: Question,
      response: Answer,
    })

/** No call at all: what reading the stamps and taking the times costs by itself, which is no part of any client. */
import { measure, queryOf } from './measure.mjs';

await measure(JSON.parse(process.argv[2]), async (index) => (queryOf(index) === '' ? 'never' : 'embed'));

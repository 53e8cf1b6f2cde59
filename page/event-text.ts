/** The event-stream format, as far as the server uses it: the data of each event, out of pieces cut anywhere. Pure. */
export class EventText {
  #rest = '';

  /** The data of every event that is whole with this piece. Comments are signs of life and yield nothing. */
  push(piece: string): string[] {
    const blocks = (this.#rest + piece).split('\n\n');
    this.#rest = blocks.pop() ?? '';
    return blocks.flatMap((block) => {
      const data = block.split('\n').filter((line) => line.startsWith('data: '));
      return data.length === 0 ? [] : [data.map((line) => line.slice('data: '.length)).join('\n')];
    });
  }
}

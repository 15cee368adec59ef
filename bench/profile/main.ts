// tsx bench/profile/main.ts <file.cpuprofile | file.heapprofile> …: where the time or the memory went.
import { readProfile } from './read.ts';

for (const file of process.argv.slice(2)) console.log(readProfile(file).join('\n'));

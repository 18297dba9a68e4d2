// node check.mjs ADDRESS PROTO_FOLDER: what a generated client of another language gets.
import grpc from "@grpc/grpc-js";
import loader from "@grpc/proto-loader";

const [address, folder] = process.argv.slice(2);
const proto = grpc.loadPackageDefinition(loader.loadSync(
  ["headrace/ratelimit/v1/ratelimit.proto", "headrace/ratelimit/v1/store.proto"],
  { includeDirs: [folder], enums: String, longs: Number },
)).headrace.ratelimit.v1;
const client = new proto.RateLimitService(address, grpc.credentials.createInsecure());

// call makes a unary call: what it answers, or the status and its Error.
const call = (method, request) => new Promise((done) => {
  client[method](request, { deadline: Date.now() + 20_000 }, (error, answer) => {
    done(error ? { status: grpc.status[error.code], details: error.details } : answer);
  });
});

const check = { identifier: "alice", resource: "search", tokens: 6, scope: "user" };
const first = await call("CheckRateLimit", { check });
const second = await call("CheckRateLimit", { check });
const settled = await call("Settle", { permit: first.result.permit, actual: [1] });
const third = await call("CheckRateLimit", { check });
const invalid = await call("CheckRateLimit", { check: { ...check, tokens: -1 } });
const batch = await call("BatchCheckRateLimit", { checks: [{ ...check, identifier: "bob", tokens: 1 }, { resource: "search" }] });
const health = await call("HealthCheck", {});
console.log(JSON.stringify({ first, second, settled, third, invalid, batch, health }));
client.close();

CREATE TABLE "tunnel_actions" (
	"id" uuid PRIMARY KEY NOT NULL,
	"tunnel_id" uuid NOT NULL,
	"caller_id" uuid,
	"created_at" timestamp(3) with time zone NOT NULL,
	"started_at" timestamp(3) with time zone,
	"finished_at" timestamp(3) with time zone,
	"type" text NOT NULL,
	"name" text,
	"params" jsonb NOT NULL,
	"sealed" text,
	"state" text NOT NULL,
	"result" jsonb,
	"error" text,
	"output" text,
	"output_cut" boolean DEFAULT false NOT NULL
);

ALTER TABLE "tunnel_sessions" ADD COLUMN "offer" jsonb;
ALTER TABLE "tunnel_actions" ADD CONSTRAINT "tunnel_actions_tunnel_id_tunnels_id_fk" FOREIGN KEY ("tunnel_id") REFERENCES "public"."tunnels"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "tunnel_actions" ADD CONSTRAINT "tunnel_actions_caller_id_users_id_fk" FOREIGN KEY ("caller_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;
CREATE INDEX "tunnel_actions_tunnel" ON "tunnel_actions" USING btree ("tunnel_id","created_at","id");
CREATE INDEX "tunnel_actions_caller" ON "tunnel_actions" USING btree ("caller_id");
CREATE INDEX "tunnel_actions_open" ON "tunnel_actions" USING btree ("tunnel_id") WHERE "tunnel_actions"."finished_at" is null;
CREATE INDEX "tunnel_actions_created" ON "tunnel_actions" USING btree ("created_at");
